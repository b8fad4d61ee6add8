// The ruler over the lanes. The wheel zooms here, a drag measures: it selects its time in all
// lanes.
#pragma once

#include <QWidget>

#include "viewer/widgets/view_state.h"

namespace redline::viewer {

class RulerView : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kHeight = 23;

  explicit RulerView(ViewState& state, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  /// A mark as it is drawn: its note as far as there is room.
  struct Flag {
    const Mark* mark = nullptr;
    QRectF rect;
    QString note;
  };
  [[nodiscard]] std::vector<Flag> flags() const;
  [[nodiscard]] const Mark* mark_at(QPointF at) const;
  void paint_marks(QPainter& painter);

  ViewState& state_;
  double pressed_x_ = 0;
};

}  // namespace redline::viewer
