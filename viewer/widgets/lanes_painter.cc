#include "viewer/widgets/lanes_painter.h"

#include <QPainter>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace redline::viewer {
namespace {

constexpr int kMinLabelPixels = 30;
constexpr int kMaxLabels = 2000;
constexpr int kSeparatorPixels = 4;  // boxes from this width on end with a gap
// A single slice in a pixel must be seen: cover starts at this share of the colour.
constexpr double kFaintest = 0.28;

uint32_t mix(const QColor& back, const QColor& front, double share) {
  const auto channel = [&](int a, int b) {
    return static_cast<int>(std::lround(a + (b - a) * share));
  };
  return qRgb(channel(back.red(), front.red()), channel(back.green(), front.green()),
              channel(back.blue(), front.blue()));
}

}  // namespace

struct LanesPainter::Canvas {
  QImage& image;
  QPainter painter;
  const Session& session;
  const Layout& layout;
  TimeAxis axis;  ///< in device pixels
  int scroll;
  double scale;
  int labels_left = kMaxLabels;

  [[nodiscard]] int device(int logical) const {
    return static_cast<int>(std::lround(logical * scale));
  }
};

LanesPainter::LanesPainter(const Theme& theme) : theme_(theme) {
  for (size_t c = 0; c < blend_.size(); ++c) {
    for (size_t cover = 0; cover < 256; ++cover) {
      const double share =
          cover == 0 ? 0 : kFaintest + (1 - kFaintest) * static_cast<double>(cover) / 255;
      blend_[c][cover] = mix(theme.lanes, theme.slice[c], share);
    }
  }
}

QImage LanesPainter::paint(const Session& session, const Layout& layout, TimeAxis axis, int scroll,
                           QSize size, double scale) {
  if (!labels_ || labels_->scale() != scale) labels_ = std::make_unique<LabelCache>(theme_, scale);
  QImage image(size * scale, QImage::Format_RGB32);
  image.fill(theme_.lanes);
  axis.width = std::max(image.width(), 1);
  {
    Canvas canvas{image, QPainter(&image), session, layout, axis, scroll, scale};
    for (const Row& row : layout.rows()) {
      if (row.top + row.height <= scroll) continue;
      if (row.top >= scroll + size.height()) break;
      paint_row(canvas, row);
    }
  }
  image.setDevicePixelRatio(scale);
  return image;
}

void LanesPainter::paint_row(Canvas& canvas, const Row& row) {
  const int top = canvas.device(row.top - canvas.scroll);
  const int bottom = canvas.device(row.top + row.height - canvas.scroll);
  if (!row.track) {
    canvas.painter.fillRect(0, top, canvas.image.width(), bottom - top, theme_.header);
  }
  canvas.painter.fillRect(0, bottom - 1, canvas.image.width(), 1, theme_.separator);
  if (!row.track) return;
  const auto& item = canvas.session.traces()[row.trace];
  const trace::Track& track = item.trace->tracks()[row.track.value];
  for (uint32_t depth = 0; depth < row.lanes; ++depth) {
    const int y = row.top - canvas.scroll + static_cast<int>(depth) * Layout::kLaneHeight;
    const int lane_top = canvas.device(y + 1);
    const int lane_bottom = canvas.device(y + Layout::kLaneHeight);
    if (lane_bottom <= 0 || lane_top >= canvas.image.height()) continue;
    paint_lane(canvas, row.trace, {track.first_lane.value + depth}, lane_top, lane_bottom);
  }
}

void LanesPainter::paint_lane(Canvas& canvas, uint32_t trace, trace::LaneId id, int top,
                              int bottom) {
  const SessionTrace& item = canvas.session.traces()[trace];
  const trace::Lane& lane = item.trace->lanes()[id.value];
  draw_lane(item.lane_columns(lane), item.pyramids[id.value], item.local(canvas.axis), pixels_);

  const size_t width = static_cast<size_t>(canvas.image.width());
  scanline_.resize(width);
  const uint32_t background = theme_.lanes.rgb();
  for (size_t c = 0; c < width; ++c) {
    scanline_[c] =
        pixels_.cover[c] ? blended(pixels_.slice_class[c], pixels_.cover[c]) : background;
  }
  for (const SliceBox& box : pixels_.boxes) {
    const uint32_t colour = blended(box.slice_class, 255);
    std::fill(scanline_.begin() + box.left, scanline_.begin() + box.right, colour);
    if (box.right - box.left >= kSeparatorPixels) {
      scanline_[static_cast<size_t>(box.right - 1)] = background;
    }
  }
  const int first = std::max(top, 0);
  const int last = std::min(bottom, canvas.image.height());
  for (int y = first; y < last; ++y) {
    std::memcpy(canvas.image.scanLine(y), scanline_.data(), width * sizeof(uint32_t));
  }
  paint_labels(canvas, trace, lane, top, bottom - top);
}

void LanesPainter::paint_labels(Canvas& canvas, uint32_t trace, const trace::Lane& lane, int top,
                                int height) {
  const trace::Trace& source = *canvas.session.traces()[trace].trace;
  const int margin = canvas.device(4);
  for (const SliceBox& box : pixels_.boxes) {
    if (box.right - box.left < canvas.device(kMinLabelPixels)) continue;
    if (canvas.labels_left-- <= 0) return;
    const trace::StringId name = source.slices().name[lane.first.value + box.slice];
    if (!name) continue;
    const uint64_t key = uint64_t{trace} << 32 | name.value;
    const QImage* label =
        labels_->label(key, source.string(name), box.right - box.left - 2 * margin,
                       static_cast<SliceClass>(box.slice_class));
    if (!label) continue;
    canvas.painter.drawImage(box.left + margin, top + (height - label->height()) / 2, *label);
  }
}

}  // namespace redline::viewer
