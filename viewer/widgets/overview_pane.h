// Where an average step goes, and what holds it back.
#pragma once

#include <QWidget>

#include "viewer/models/summary.h"
#include "viewer/widgets/theme.h"

class QScrollArea;
class QVBoxLayout;

namespace redline::viewer {

class OverviewPane : public QWidget {
  Q_OBJECT

 public:
  explicit OverviewPane(const Theme& theme, QWidget* parent = nullptr);

  void show_summary(const Summary& summary);
  void show_note(const QString& text);  ///< instead of a summary

 signals:
  /// Of the report's trace.
  void evidence_chosen(size_t trace, redline::trace::SliceId slice);

 private:
  QVBoxLayout* start_content();
  void add_step(QVBoxLayout& column, const Summary& summary);
  void add_parts(QVBoxLayout& column, const std::vector<SummaryPart>& parts);
  void add_figures(QVBoxLayout& column, const std::vector<SummaryFigure>& figures);
  void add_card(QVBoxLayout& column, const SummaryCard& card);

  const Theme& theme_;
  QScrollArea* area_;
};

}  // namespace redline::viewer
