// What lies over the slices and changes with the mouse: hover, selection, arrows, the selected
// area.
#pragma once

#include <QPainter>
#include <optional>

#include "viewer/widgets/view_state.h"

namespace redline::viewer {

class OverlayPainter {
 public:
  OverlayPainter(QPainter& painter, const ViewState& state, QSize size)
      : painter_(painter), state_(state), size_(size) {}

  void paint();

 private:
  void paint_area();
  void paint_links();
  void paint_link(const Link& link);
  /// Cut to a little more than the view; none where it is outside or hidden.
  [[nodiscard]] std::optional<QRectF> rect_of(SliceRef ref) const;
  /// Where an arrow begins or ends: also outside of the view, and in folded tracks their first
  /// lane.
  [[nodiscard]] std::optional<QPointF> anchor_of(SliceRef ref) const;

  QPainter& painter_;
  const ViewState& state_;
  QSize size_;
};

}  // namespace redline::viewer
