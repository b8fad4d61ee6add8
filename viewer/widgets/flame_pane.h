// The flame graph of the selected area or, without one, of the whole recording; while a step is
// chosen, of that step alone. Its view also shows the tree of modules.
#pragma once

#include <QLabel>
#include <memory>
#include <vector>

#include "viewer/models/flame.h"
#include "viewer/models/latest_task.h"
#include "viewer/widgets/items_view.h"
#include "viewer/widgets/panes.h"

namespace redline::viewer {

/// The boxes, the outermost on top. A click zooms to one; Esc and a double click go back.
class FlameView : public ItemsView {
  Q_OBJECT

 public:
  static constexpr int kRowHeight = 18;

  FlameView(ViewState& state, const QString& title);
  void show_flame(std::shared_ptr<const Flame> flame);

  [[nodiscard]] const Flame& flame() const { return *flame_; }
  [[nodiscard]] uint32_t zoomed() const { return zooms_.back(); }

  [[nodiscard]] int item_count() const override { return static_cast<int>(boxes_.size()); }
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;
  void choose(int item) override;

 protected:
  [[nodiscard]] int item_at(QPointF at) const override;
  [[nodiscard]] int item_after(int item, int key) const override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  [[nodiscard]] const FlameNode& node_of(int item) const;
  [[nodiscard]] bool is_found(const FlameNode& node) const;  ///< by its name
  bool go_back();                                            ///< false: nothing was zoomed
  void place();

  ViewState& state_;
  std::shared_ptr<const Flame> flame_;
  std::vector<uint32_t> zooms_;  ///< the box that fills the width, and those before it
  size_t zooms_before_press_ = 1;
  std::vector<FlameBox> boxes_;
};

/// So that deep stacks can be scrolled.
[[nodiscard]] QWidget* in_scroll_area(FlameView& view);

class FlamePane : public Pane {
  Q_OBJECT

 public:
  explicit FlamePane(ViewState& state);

  [[nodiscard]] FlameView& view() { return *view_; }
  [[nodiscard]] Table exported() const override { return flame_table(view_->flame()); }
  void wait() override { task_.wait(); }

 signals:
  void shown();  ///< the boxes of the area that the state has

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  /// Shows nothing, as if the trace had just been opened.
  void clear();
  void forget();
  void sum_up();
  void show_flame(const std::shared_ptr<const Flame>& flame, const QString& of_what);

  ViewState& state_;
  QLabel* figures_;
  FlameView* view_;
  bool is_stale_ = true;  ///< what is shown is of another area; only a pane in sight sums up
  bool is_summing_ = false;
  LatestTask task_{this};
};

}  // namespace redline::viewer
