// What stands over the lanes: the whole recording in one strip, and the ruler.
#pragma once

#include <QWidget>
#include <optional>

#include "viewer/models/rank_outline.h"
#include "viewer/widgets/view_state.h"

namespace redline::viewer {

/// The whole recording with its steps. The frame that shows what the lanes show can be moved, or
/// drawn anew by dragging.
class OverviewStrip : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kHeight = 55;

  explicit OverviewStrip(ViewState& state);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  void recompute();
  [[nodiscard]] TimeAxis whole() const;
  void paint_columns(QPainter& painter);
  void paint_steps(QPainter& painter);
  void paint_window(QPainter& painter);

  ViewState& state_;
  std::vector<OverviewColumn> columns_;
  std::optional<double> drag_from_;  ///< x where a drag began
  bool moving_window_ = false;
};

/// The ruler. The wheel zooms here; a drag measures: it selects its time in all lanes.
class RulerView : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kHeight = 23;

  explicit RulerView(ViewState& state);

  /// So far apart that the labels, which are long late in a long trace, do not touch. A tick whose
  /// label the flag of a mark would cover has none.
  [[nodiscard]] std::vector<Tick> ticks() const;

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
  [[nodiscard]] const Mark* mark_in_the_middle() const;
  void paint_marks(QPainter& painter);

  ViewState& state_;
  double pressed_x_ = 0;
};

}  // namespace redline::viewer
