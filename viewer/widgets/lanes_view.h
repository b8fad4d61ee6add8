// The lanes: shows the painted slices, and takes mouse and wheel.
#pragma once

#include <QImage>
#include <QWidget>
#include <optional>

#include "viewer/widgets/lanes_painter.h"
#include "viewer/widgets/view_state.h"

class QHelpEvent;

namespace redline::viewer {

class LanesView : public QWidget {
  Q_OBJECT

 public:
  explicit LanesView(ViewState& state);

  /// The point that zooming by keyboard keeps in place: the cursor's, or the middle if it is
  /// elsewhere.
  [[nodiscard]] double zoom_anchor() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void repaint_slices();
  void take_theme();
  void say_selection();
  [[nodiscard]] QString tip_at(QPoint at) const;
  void show_tip(QHelpEvent* event);

  ViewState& state_;
  std::optional<LanesPainter> painter_;  ///< for the present theme
  QImage image_;                         ///< slices without the overlay; null when stale
  std::optional<QPoint> pressed_;
  QPoint last_;
  bool dragging_ = false;
  bool selecting_area_ = false;
};

}  // namespace redline::viewer
