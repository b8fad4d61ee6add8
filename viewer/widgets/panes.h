// The panes beside the timeline: what a step takes, the selected slice, the selected area.
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QWidget>
#include <memory>
#include <vector>

#include "viewer/models/latest_task.h"
#include "viewer/models/summary.h"
#include "viewer/widgets/table_view.h"
#include "viewer/widgets/view_state.h"

class QScrollArea;
class QVBoxLayout;

namespace redline::trace {
struct Report;
}

namespace redline::viewer {

/// A tab beside the timeline. A new one is a class below, its .cc, and a line in make_panes().
class Pane : public QWidget {
  Q_OBJECT

 public:
  explicit Pane(const QString& title) { setWindowTitle(title); }

  virtual void show_note(const QString& /*words*/) {}  ///< shown while there is no report
  virtual void show_report(const std::shared_ptr<const trace::Report>& /*report*/) {}
  /// What Export writes of it.
  [[nodiscard]] virtual Table exported() const { return {}; }
  /// Waits for what another thread computes for the pane.
  virtual void wait() {}

 signals:
  void wanted();  ///< the user has chosen something that this pane shows
};

/// All panes, in the order of their tabs.
[[nodiscard]] std::vector<Pane*> make_panes(ViewState& state);

/// What the file says of the selected slice.
class DetailsPane : public Pane {
  Q_OBJECT

 public:
  explicit DetailsPane(ViewState& state);

  /// Name, links, fields and arguments of the selected slice.
  [[nodiscard]] Table exported() const override;

 private:
  void show_selection();
  void show_links();

  ViewState& state_;
  QLabel* hint_;
  QLabel* name_;
  QLabel* duration_;
  TableView* links_;     // what launched it, and what it launched
  QTableWidget* table_;  // some dozens of rows: one slice's own fields
};

/// What lies in the selected area, by name.
class SelectionPane : public Pane {
  Q_OBJECT

 public:
  explicit SelectionPane(ViewState& state);

  [[nodiscard]] TableView& table() { return *table_; }
  void wait() override { task_.wait(); }

 signals:
  void shown();  ///< the sums of the area that the state has

 private:
  void summarize();
  void show_summary(const AreaSummary& summary);

  ViewState& state_;
  QLabel* length_;
  QLabel* figures_;
  QPushButton* flame_;  ///< leads to the flame graph of the area
  TableView* table_;
  LatestTask task_{this};
};

/// Where an average step goes, and what holds it back.
class OverviewPane : public Pane {
  Q_OBJECT

 public:
  explicit OverviewPane(ViewState& state);

  void show_note(const QString& words) override;
  void show_report(const std::shared_ptr<const trace::Report>& report) override;

 private:
  QVBoxLayout* start_content();
  void add_step(QVBoxLayout& column, const Summary& summary);
  void add_parts(QVBoxLayout& column, const std::vector<SummaryPart>& parts);
  void add_figures(QVBoxLayout& column, const std::vector<SummaryFigure>& figures);
  void add_card(QVBoxLayout& column, const SummaryCard& card);
  void show_evidence(const SummaryCard& card);

  ViewState& state_;
  std::shared_ptr<const trace::Report> report_;
  QScrollArea* area_;
};

}  // namespace redline::viewer
