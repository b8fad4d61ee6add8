#include <QPainterPath>
#include <algorithm>
#include <optional>

#include "viewer/models/format.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/lanes_painter.h"
#include "viewer/widgets/view_state.h"

namespace redline::viewer {
namespace {

constexpr double kFarPixels = 4000;  // an arrow from further away begins at this distance
constexpr double kArrow = 4;
// A step launches thousands of kernels. A few arrows stand for all, so that the slices below can be
// seen.
constexpr size_t kMostArrows = 100;
constexpr size_t kFewArrows = 20;

class OverlayPainter {
 public:
  OverlayPainter(QPainter& painter, const ViewState& state, QSize size)
      : painter_(painter), state_(state), size_(size) {}

  void paint();

 private:
  /// Words on the headers of groups: a GPU's name, and what a folded group holds.
  void paint_headers();
  void paint_area();
  void paint_links();
  void paint_link(const Link& link);
  /// The slice's rectangle, cut to a little more than the view; nullopt if the slice is outside or
  /// hidden.
  [[nodiscard]] std::optional<QRectF> rect_of(SliceRef ref) const;
  /// Where an arrow begins or ends. This may be outside the view; for a folded track it is the
  /// first lane.
  [[nodiscard]] std::optional<QPointF> anchor_of(SliceRef ref) const;

  QPainter& painter_;
  const ViewState& state_;
  QSize size_;
};

void OverlayPainter::paint() {
  const Theme& theme = state_.theme();
  paint_headers();
  if (const auto rect = rect_of(state_.hover())) {
    // A frame, because a shade would make the name on the slice harder to read.
    painter_.setPen(theme.text);
    painter_.setBrush(Qt::NoBrush);
    painter_.drawRect(rect->adjusted(0.5, 0.5, -0.5, -0.5));
  }
  for (const Mark& mark : state_.marks()) {
    const double x = state_.axis().x_of(mark.time_ns);
    if (x >= 0 && x < size_.width()) {
      painter_.fillRect(QRectF(x, 0, 1, size_.height()), theme.graph);
    }
  }
  if (state_.moment()) {
    const double x = state_.axis().x_of(*state_.moment());
    painter_.fillRect(QRectF(x, 0, 2, size_.height()), theme.accent);
  }
  paint_area();
  if (const auto rect = rect_of(state_.selection())) {
    painter_.setPen(QPen(theme.accent, 2));
    painter_.setBrush(Qt::NoBrush);
    painter_.drawRect(rect->adjusted(0, 0, 0, 1));
  }
  paint_links();
}

void OverlayPainter::paint_headers() {
  const Layout& layout = state_.layout();
  painter_.setFont(ui_font(11));
  painter_.setPen(state_.theme().muted);
  for (const Row& row : layout.rows()) {
    const int top = row.view_top(state_.scroll());
    if (top >= size_.height()) break;
    if (!row.is_header() || top < layout.pinned_height()) continue;
    const TrackGroup& group = layout.group_of(row);
    std::string words = group.device >= 0 ? group.note : "";
    if (row.folded) words += (words.empty() ? "" : " · ") + contents_of(group);
    const bool has_lane_below = row.folded && !group.busy.empty();
    const int height = has_lane_below ? Layout::kFoldedTop : row.height - 1;
    const int width = size_.width() - 16;
    painter_.drawText(QRect(8, top, width, height), Qt::AlignVCenter,
                      painter_.fontMetrics().elidedText(text(words), Qt::ElideRight, width));
  }
}

std::optional<QRectF> OverlayPainter::rect_of(SliceRef ref) const {
  if (!ref) return std::nullopt;
  const Layout& layout = state_.layout();
  const auto top = layout.top_of(state_.session(), ref);
  if (!top) return std::nullopt;
  const TimeRange range = state_.session().range_of(ref);
  const double left = std::max(state_.axis().x_of(range.begin_ns), -10.0);
  const double right = std::min(state_.axis().x_of(range.end_ns), size_.width() + 10.0);
  if (right < 0 || left > size_.width()) return std::nullopt;
  const bool pinned = *top < layout.pinned_height();
  const int y = pinned ? *top : *top - state_.scroll();
  if (!pinned && y + Layout::kLaneHeight <= layout.pinned_height()) return std::nullopt;
  return QRectF(left, y + 1, std::max(right - left, 2.0), Layout::kLaneHeight - 1);
}

std::optional<QPointF> OverlayPainter::anchor_of(SliceRef ref) const {
  const Row* row = state_.layout().row_of(state_.session(), ref);
  if (!row) return std::nullopt;
  const int top = state_.layout().top_of(state_.session(), ref).value_or(row->top);
  const double y = row->view_top(state_.scroll()) + (top - row->top) + Layout::kLaneHeight / 2.0;
  const double x = state_.axis().x_of(state_.session().range_of(ref).begin_ns);
  return QPointF(std::clamp(x, -kFarPixels, size_.width() + kFarPixels), y);
}

void OverlayPainter::paint_links() {
  painter_.setRenderHint(QPainter::Antialiasing);
  painter_.setBrush(Qt::NoBrush);
  const auto& links = state_.links();
  painter_.setOpacity(links.size() > kFewArrows ? 0.3 : 1);
  const size_t step = links.size() / kMostArrows + 1;
  for (size_t i = 0; i < links.size(); i += step) paint_link(links[i]);
  painter_.setOpacity(1);
  painter_.setRenderHint(QPainter::Antialiasing, false);
}

void OverlayPainter::paint_link(const Link& link) {
  const auto from = anchor_of(link.from);
  const auto to = anchor_of(link.to);
  if (!from || !to) return;
  const QRectF view(QPointF(0, 0), QSizeF(size_));
  if (!QRectF(*from, *to).normalized().adjusted(-40, -1, 40, 1).intersects(view)) return;
  const Theme& theme = state_.theme();
  const bool collective = link.kind == LinkKind::kCollective;
  QPen pen(collective ? theme.of(SliceClass::kCommunication) : theme.accent, 1.5);
  if (link.kind == LinkKind::kForwardBackward) pen.setStyle(Qt::DashLine);
  painter_.setPen(pen);
  const double bend = std::clamp(std::abs(to->x() - from->x()) / 2, 12.0, 60.0);
  QPainterPath path(*from);
  path.cubicTo(*from + QPointF(bend, 0), *to - QPointF(bend, 0), *to);
  painter_.drawPath(path);
  QPainterPath head(*to);
  head.lineTo(*to + QPointF(-1.6 * kArrow, -kArrow));
  head.lineTo(*to + QPointF(-1.6 * kArrow, kArrow));
  head.closeSubpath();
  painter_.fillPath(head, pen.color());
}

// Paints a bracket with the area's length, and a tint over the area's lanes.
void OverlayPainter::paint_area() {
  const Area& area = state_.area();
  if (area.empty()) return;
  const Theme& theme = state_.theme();
  const double left = std::max(state_.axis().x_of(area.range.begin_ns), -10.0);
  const double right = std::min(state_.axis().x_of(area.range.end_ns), size_.width() + 10.0);
  if (right < 0 || left > size_.width()) return;
  const QColor tint = theme.area_tint();
  const auto& lanes = area.lanes;
  for (const Row& row : state_.layout().rows()) {
    const int top = row.view_top(state_.scroll());
    if (top >= size_.height() || top + row.height <= 0) continue;
    for (uint32_t depth = 0; depth < row.lanes; ++depth) {
      const int y = static_cast<int>(depth) * Layout::kLaneHeight;
      const int pinned = row.pinned ? 0 : state_.layout().pinned_height();
      if (top + y + Layout::kLaneHeight <= pinned) continue;
      const auto hit = state_.layout().lane_at(state_.session(), row.top + y);
      const bool counts = hit && std::ranges::any_of(lanes, [&](const LaneHit& lane) {
                            return lane.trace == hit->trace && lane.lane == hit->lane;
                          });
      if (counts) painter_.fillRect(QRectF(left, top + y, right - left, Layout::kLaneHeight), tint);
    }
  }
  for (const double x : {left, right - 1}) {
    painter_.fillRect(QRectF(x, 0, 1, size_.height()), theme.accent);
  }
  const QString length = text(format_duration(area.range.span_ns()));
  painter_.setFont(ui_font(11, QFont::DemiBold));
  const int width = painter_.fontMetrics().horizontalAdvance(length) + 12;
  const double middle = std::clamp((left + right) / 2, width / 2.0, size_.width() - width / 2.0);
  const QRectF box(middle - width / 2.0, 2, width, 16);
  painter_.fillRect(QRectF(left, 9, right - left, 1), theme.accent);
  painter_.fillRect(box, theme.accent);
  painter_.setPen(theme.lanes);
  painter_.drawText(box, Qt::AlignCenter, length);
}

}  // namespace

void paint_overlay(QPainter& painter, const ViewState& state, QSize size) {
  OverlayPainter(painter, state, size).paint();
}

}  // namespace redline::viewer
