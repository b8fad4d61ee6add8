// The Find tab: how long the hits of the search are, and the longest of them.
#pragma once

#include <QLabel>
#include <QWidget>

#include "viewer/models/find_results.h"
#include "viewer/widgets/latest_task.h"
#include "viewer/widgets/table_view.h"
#include "viewer/widgets/view_state.h"

namespace redline::viewer {

/// Bars of the durations; the selected slice's is marked.
class HistogramView : public QWidget {
  Q_OBJECT

 public:
  explicit HistogramView(ViewState& state, QWidget* parent = nullptr);
  void show_bins(std::vector<HistogramBin> bins);

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] QRectF bar(size_t bin) const;

  ViewState& state_;
  std::vector<HistogramBin> bins_;
  uint64_t most_ = 1;
};

class FindPane : public QWidget {
  Q_OBJECT

 public:
  explicit FindPane(ViewState& state, QWidget* parent = nullptr);

  [[nodiscard]] TableView& table() { return *table_; }
  void wait() { task_.wait(); }

 signals:
  void shown();  ///< the results of the search that the state has

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void search();
  void show_results(const FindResults& results);

  ViewState& state_;
  QLabel* figures_;
  HistogramView* histogram_;
  TableView* table_;
  bool is_stale_ = true;
  LatestTask task_;
};

}  // namespace redline::viewer
