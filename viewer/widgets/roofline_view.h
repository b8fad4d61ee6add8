// The roofline: each operator and shape as a circle by its operations a byte and its rate, under
// the lines of what the device can do. A click on a circle marks its row in the table.
#pragma once

#include "viewer/models/roofline.h"
#include "viewer/widgets/items_view.h"
#include "viewer/widgets/view_state.h"

namespace redline::viewer {

class RooflineView : public ItemsView {
  Q_OBJECT

 public:
  explicit RooflineView(ViewState& state);

  void show_picture(RooflinePicture picture);
  [[nodiscard]] const RooflinePicture& picture() const { return picture_; }

  [[nodiscard]] int item_count() const override {
    return static_cast<int>(picture_.plot.circles.size());
  }
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;
  void choose(int item) override;

 signals:
  void row_chosen(size_t row);  ///< of roofline_table()

 protected:
  void paintEvent(QPaintEvent* event) override;
  [[nodiscard]] int item_at(QPointF at) const override;

 private:
  [[nodiscard]] QRectF plot() const;
  [[nodiscard]] QPointF at(double x, double y) const;
  void paint_grid(QPainter& painter) const;

  ViewState& state_;
  RooflinePicture picture_;
};

}  // namespace redline::viewer
