// Searching: the field in the top bar, and the Find tab with the figures of what was found.
#pragma once

#include <QLabel>
#include <QWidget>

#include "viewer/models/find_results.h"
#include "viewer/models/latest_task.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/items_view.h"
#include "viewer/widgets/table_view.h"
#include "viewer/widgets/view_state.h"

namespace redline::viewer {

/// Bars of the durations; the selected slice's is marked. A click on one chooses it.
class HistogramView : public ItemsView {
  Q_OBJECT

 public:
  explicit HistogramView(ViewState& state);
  void show_bins(std::vector<HistogramBin> bins);

  [[nodiscard]] int item_count() const override { return static_cast<int>(bins_.size()); }
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;
  void choose(int item) override { emit bin_chosen(bins_[static_cast<size_t>(item)]); }

 signals:
  void bin_chosen(const redline::viewer::HistogramBin& bin);

 protected:
  void paintEvent(QPaintEvent* event) override;
  [[nodiscard]] int item_at(QPointF at) const override;

 private:
  ViewState& state_;
  std::vector<HistogramBin> bins_;
  uint64_t most_ = 1;
};

/// The Find tab: how long the hits of the search are, and all of them with the longest first.
class FindPane : public QWidget {
  Q_OBJECT

 public:
  explicit FindPane(ViewState& state);

  [[nodiscard]] HitsView& table() { return *table_; }
  /// The first hits as they are sorted, at most a million.
  [[nodiscard]] Table first_rows() const { return table_->hits().table(); }
  /// How many hits there are beyond them.
  [[nodiscard]] size_t rows_beyond() const {
    return table_->hits().size() - table_->hits().shown_count();
  }
  void wait() { task_.wait(); }

 signals:
  void shown();  ///< the results of the search that the state has

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void search();
  void show_results(const FindResults& results);
  void show_nothing();

  ViewState& state_;
  QLabel* figures_;
  HistogramView* histogram_;
  HitsView* table_;
  Hits longest_first_;  ///< what the bars count
  bool is_stale_ = true;
  LatestTask task_{this};
};

/// The search field of the top bar, with "3 of 1,278" in it.
class SearchField : public Field {
  Q_OBJECT

 public:
  explicit SearchField(ViewState& state);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 signals:
  void left();  ///< Esc: the keys should go to the timeline again

 private:
  void show_count();

  ViewState& state_;
  QLabel* count_;
};

}  // namespace redline::viewer
