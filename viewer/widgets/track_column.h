// The left column: ranks and processes, threads and streams. A click on a row with a triangle
// folds.
#pragma once

#include <QWidget>

#include "viewer/widgets/view_state.h"

namespace redline::viewer {

class TrackColumn : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kWidth = 230;

  explicit TrackColumn(ViewState& state, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void paint_row(QPainter& painter, const Row& row);
  void paint_header(QPainter& painter, const TrackGroup& group, const QRect& rect, bool folded);
  void paint_track(QPainter& painter, const TrackItem& item, const QRect& rect, const Row& row);

  ViewState& state_;
};

}  // namespace redline::viewer
