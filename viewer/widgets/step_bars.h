// The steps side by side, each as high as it took long: its parts in their colours, slow ones
// marked. A click chooses a step.
#pragma once

#include <vector>

#include "viewer/models/steps_table.h"
#include "viewer/widgets/items_view.h"
#include "viewer/widgets/view_state.h"

namespace redline::viewer {

class StepBars : public ItemsView {
  Q_OBJECT

 public:
  explicit StepBars(ViewState& state);

  void show_bars(std::vector<StepBar> bars);

  [[nodiscard]] int item_count() const override { return static_cast<int>(drawn_.size()); }
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;
  void choose(int item) override { emit step_chosen(bar(item).time); }

 signals:
  void step_chosen(redline::viewer::TimeRef step);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  [[nodiscard]] int item_at(QPointF at) const override;

 private:
  [[nodiscard]] const StepBar& bar(int item) const {
    return bars_[drawn_[static_cast<size_t>(item)]];
  }
  [[nodiscard]] QRectF plot() const;
  [[nodiscard]] double pitch() const;
  void fit();
  void paint_bar(QPainter& painter, int item) const;

  ViewState& state_;
  std::vector<StepBar> bars_;
  std::vector<size_t> drawn_;
  int64_t longest_ns_ = 1;
};

}  // namespace redline::viewer
