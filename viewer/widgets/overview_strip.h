// The whole recording in one strip, with its steps; the window on it can be moved and drawn anew.
#pragma once

#include <QWidget>
#include <optional>

#include "viewer/models/summary.h"
#include "viewer/widgets/view_state.h"

namespace redline::viewer {

class OverviewStrip : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kHeight = 55;

  explicit OverviewStrip(ViewState& state, QWidget* parent = nullptr);

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

}  // namespace redline::viewer
