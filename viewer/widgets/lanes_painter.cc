#include "viewer/widgets/lanes_painter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "viewer/models/format.h"
#include "viewer/widgets/view_state.h"

namespace redline::viewer {
namespace {

constexpr int kMinLabelPixels = 30;
constexpr int kMaxLabels = 2000;
constexpr int kUnderlinePixels = 2;
constexpr int kSeparatorPixels = 4;  // boxes of this width or more end with a gap

uint32_t mix(const QColor& back, const QColor& front, double share) {
  const auto channel = [&](int a, int b) {
    return static_cast<int>(std::lround(a + (b - a) * share));
  };
  return qRgb(channel(back.red(), front.red()), channel(back.green(), front.green()),
              channel(back.blue(), front.blue()));
}

}  // namespace

Scene scene_of(const ViewState& state) {
  const Search& search = state.search();
  return {state.session(),
          state.derived(),
          state.layout(),
          state.name_colours(),
          state.axis(),
          state.scroll(),
          search.count() > 0 ? &search : nullptr};
}

struct LanesPainter::Canvas {
  LanesSurface& surface;
  const Scene& scene;
  TimeAxis axis;  ///< in device pixels
  double scale;
  int clip_top = 0;  ///< the pinned rows lie above
  int labels_left = kMaxLabels;

  [[nodiscard]] int device(int logical) const {
    return static_cast<int>(std::lround(logical * scale));
  }
};

LanesPainter::LanesPainter(const Theme& theme) : theme_(theme) {
  for (size_t c = 0; c < blend_.size(); ++c) {
    for (size_t cover = 0; cover < 256; ++cover) {
      const double share = cover == 0 ? 0 : Theme::opacity_of(static_cast<uint8_t>(cover));
      blend_[c][cover] = mix(theme.lanes, theme.slice[c], share);
    }
  }
}

QImage LanesPainter::paint(const Scene& scene, QSize size, double scale) {
  QImage image(size * scale, QImage::Format_RGB32);
  image.fill(theme_.lanes);
  {
    ImageSurface surface(image);
    paint_onto(surface, scene, scale);
  }
  image.setDevicePixelRatio(scale);
  return image;
}

void LanesPainter::paint_onto(LanesSurface& surface, const Scene& scene, double scale) {
  if (!labels_ || labels_->scale() != scale) labels_ = std::make_unique<LabelCache>(theme_, scale);
  Canvas canvas{surface, scene, scene.axis, scale};
  canvas.axis.width = std::max(surface.width(), 1);
  paint_rows(canvas, true);
  const int pinned = canvas.device(scene.layout.pinned_height());
  if (pinned > 0) surface.fill({0, pinned - 2, surface.width(), 2}, theme_.accent);
  canvas.clip_top = pinned;
  surface.clip_above(pinned);
  paint_rows(canvas, false);
}

void LanesPainter::paint_rows(Canvas& canvas, bool pinned) {
  for (const Row& row : canvas.scene.layout.rows()) {
    if (row.pinned != pinned) continue;
    const int top = canvas.device(row.view_top(canvas.scene.scroll));
    if (top + canvas.device(row.height) <= canvas.clip_top) continue;
    if (top >= canvas.surface.height()) break;
    paint_row(canvas, row);
  }
}

void LanesPainter::paint_row(Canvas& canvas, const Row& row) {
  const int y = row.view_top(canvas.scene.scroll);
  const int top = canvas.device(y);
  const int bottom = canvas.device(y + row.height);
  const int width = canvas.surface.width();
  if (row.is_header()) canvas.surface.fill({0, top, width, bottom - top}, theme_.header);
  if (bottom <= canvas.surface.height()) {
    canvas.surface.fill({0, bottom - 1, width, 1}, theme_.separator);
  }
  if (row.is_header()) {
    if (row.folded) paint_folded(canvas, canvas.scene.layout.group_of(row), top, bottom);
    return;
  }
  const SessionTrace& source = canvas.scene.session.traces()[row.trace];
  const TrackItem& item = canvas.scene.layout.item_of(row);
  switch (item.kind) {
    case TrackItem::Kind::kSlices:
      paint_slices(canvas, row, source.trace->tracks()[item.track.value]);
      break;
    case TrackItem::Kind::kRuntime:
      paint_runtime(canvas, canvas.scene.derived.runtimes[item.index], top + canvas.device(2),
                    bottom - canvas.device(2));
      break;
    case TrackItem::Kind::kMarks:
      paint_marks(canvas, canvas.scene.derived.marks[item.index], top + canvas.device(2),
                  bottom - canvas.device(2));
      break;
    case TrackItem::Kind::kDevice:
      paint_device(canvas, canvas.scene.derived.devices[item.index], top + canvas.device(2),
                   bottom - canvas.device(2), theme_.lanes);
      break;
    case TrackItem::Kind::kGraph:
      paint_graph(canvas.surface, QRect(0, top, width, bottom - top).adjusted(0, 3, 0, -3),
                  canvas.scene.derived.graphs[item.index].graph, source.local(canvas.axis), theme_,
                  canvas.scale);
      break;
  }
}

void LanesPainter::paint_slices(Canvas& canvas, const Row& row, const trace::Track& track) {
  const int top = row.view_top(canvas.scene.scroll);
  for (uint32_t depth = 0; depth < row.lanes; ++depth) {
    const int y = top + static_cast<int>(depth) * Layout::kLaneHeight;
    const int lane_top = canvas.device(y + 1);
    const int lane_bottom = canvas.device(y + Layout::kLaneHeight);
    if (lane_bottom <= canvas.clip_top || lane_top >= canvas.surface.height()) continue;
    paint_lane(canvas, row.trace, {track.first_lane.value + depth}, lane_top, lane_bottom);
  }
}

// As much of a rank that is not loaded as the report has kept.
void LanesPainter::paint_outline(Canvas& canvas, const SessionTrace& rank, int top, int bottom) {
  if (!rank.outline) return;
  const TimeAxis axis = rank.local(canvas.axis);
  scanline_.assign(static_cast<size_t>(canvas.surface.width()), theme_.header.rgb());
  for (size_t x = 0; x < scanline_.size(); ++x) {
    const auto* column = rank.outline->column_at(axis.time_at(static_cast<double>(x) + 0.5));
    if (!column) continue;
    const auto cover = static_cast<uint8_t>(std::lround(column->busy * 255));
    scanline_[x] =
        cover == 0 ? theme_.idle.rgb() : blended(static_cast<uint8_t>(column->main_class), cover);
  }
  canvas.surface.lines(std::max(top, canvas.clip_top), std::min(bottom, canvas.surface.height()),
                       scanline_);
}

void LanesPainter::paint_folded(Canvas& canvas, const TrackGroup& group, int top, int bottom) {
  if (!group.is_loaded) {
    paint_outline(canvas, canvas.scene.session.traces()[group.trace],
                  top + canvas.device(Layout::kFoldedTop), bottom - canvas.device(2));
  }
  for (const TrackItem& item : group.tracks) {
    if (item.kind != TrackItem::Kind::kDevice) continue;
    paint_device(canvas, canvas.scene.derived.devices[item.index],
                 top + canvas.device(Layout::kFoldedTop), bottom - canvas.device(2), theme_.header);
  }
}

void LanesPainter::paint_runtime(Canvas& canvas, const RuntimeLane& lane, int top, int bottom) {
  const TimeAxis axis = canvas.scene.session.traces()[lane.trace()].local(canvas.axis);
  draw_lane(lane.columns(), lane.pyramid(), axis, pixels_);
  scanline_.assign(static_cast<size_t>(canvas.surface.width()), theme_.lanes.rgb());
  paint_pixels(canvas, top, bottom, true);
}

// Each mark is a line, with its name beside it where no other mark is in the way.
void LanesPainter::paint_marks(Canvas& canvas, const MarksLane& lane, int top, int bottom) {
  const SessionTrace& source = canvas.scene.session.traces()[lane.trace()];
  const std::vector<DrawnMark> marks = lane.draw(source.local(canvas.axis));
  const int line = canvas.device(2);
  const int margin = canvas.device(3);
  for (size_t i = 0; i < marks.size(); ++i) {
    const int left = marks[i].column;
    canvas.surface.fill({left, top, line, bottom - top}, theme_.accent);
    const int right = i + 1 < marks.size() ? marks[i + 1].column : canvas.surface.width();
    const int room = right - left - line - 2 * margin;
    if (room < canvas.device(kMinLabelPixels) || canvas.labels_left-- <= 0) continue;
    const std::string_view words = label_of(source.trace->string(lane.name(marks[i].mark)));
    const QImage* label = labels_->label(words, room, LabelCache::kOnLanes);
    if (!label) continue;
    const QPoint at(left + line + margin, top + (bottom - top - label->height()) / 2);
    canvas.surface.label(at, *label, words, theme_.text);
  }
}

// Between its first and its last work an idle GPU waited; this is painted, too.
void LanesPainter::paint_device(Canvas& canvas, const DeviceLane& lane, int top, int bottom,
                                const QColor& background) {
  const LaneColumns columns = lane.columns();
  if (columns.size() == 0) return;
  const TimeAxis axis = canvas.scene.session.traces()[lane.trace()].local(canvas.axis);
  draw_lane(columns, lane.pyramid(), axis, pixels_);
  const auto width = static_cast<double>(canvas.surface.width());
  const auto column = [&](int64_t time_ns) {
    return static_cast<size_t>(std::clamp(axis.x_of(time_ns), 0.0, width));
  };
  const size_t first = column(columns.begin_ns.front());
  const size_t last = column(columns.end_ns.back());
  scanline_.assign(static_cast<size_t>(canvas.surface.width()), background.rgb());
  std::fill(scanline_.begin() + static_cast<std::ptrdiff_t>(first),
            scanline_.begin() + static_cast<std::ptrdiff_t>(last), theme_.idle.rgb());
  paint_pixels(canvas, top, bottom, false);
}

void LanesPainter::paint_lane(Canvas& canvas, uint32_t trace, trace::LaneId id, int top,
                              int bottom) {
  const SessionTrace& item = canvas.scene.session.traces()[trace];
  const trace::Lane& lane = item.trace->lanes()[id.value];
  draw_lane(item.lane_columns(lane), item.pyramids[id.value], item.local(canvas.axis), pixels_);
  if (canvas.scene.names) canvas.scene.names->colour_by_name(pixels_, trace, *item.trace, lane);
  scanline_.assign(static_cast<size_t>(canvas.surface.width()), theme_.lanes.rgb());
  paint_pixels(canvas, top, bottom, true);
  if (canvas.scene.hits) paint_hits(canvas, trace, lane, bottom);
  paint_labels(canvas, trace, lane, top, bottom - top);
}

// Paints over what the scanline holds. Only with `gaps` there are gaps between neighbouring boxes.
void LanesPainter::paint_pixels(Canvas& canvas, int top, int bottom, bool gaps) {
  const size_t width = scanline_.size();
  for (size_t c = 0; c < width; ++c) {
    if (pixels_.cover[c]) scanline_[c] = blended(pixels_.colour[c], pixels_.cover[c]);
  }
  const uint32_t background = theme_.lanes.rgb();
  for (const SliceBox& box : pixels_.boxes) {
    const uint32_t colour = blended(box.colour, 255);
    std::fill(scanline_.begin() + box.left, scanline_.begin() + box.right, colour);
    if (gaps && box.right - box.left >= kSeparatorPixels) {
      scanline_[static_cast<size_t>(box.right - 1)] = background;
    }
  }
  canvas.surface.lines(std::max(top, canvas.clip_top), std::min(bottom, canvas.surface.height()),
                       scanline_);
}

// What the search has found is underlined: also the slices that a table's row stands for.
void LanesPainter::paint_hits(Canvas& canvas, uint32_t trace, const trace::Lane& lane, int bottom) {
  const int height = canvas.device(kUnderlinePixels);
  if (bottom - height < canvas.clip_top) return;
  const auto underline = [&](int left, int right) {
    canvas.surface.fill({left, bottom - height, right - left, height}, theme_.text);
  };
  uint32_t asked = LanePyramid::kNoSlice;  // one slice lies under many columns
  bool is_hit = false;
  const auto matches = [&](uint32_t slice) {
    if (std::exchange(asked, slice) == slice) return is_hit;
    const SliceRef ref{trace, {lane.first.value + slice}};
    return is_hit = canvas.scene.hits->matches(canvas.scene.session, ref);
  };
  const int width = static_cast<int>(pixels_.cover.size());
  int begin = 0;  // of columns that are all hits
  for (int c = 0; c <= width; ++c) {
    const auto column = static_cast<size_t>(c);
    if (c < width && pixels_.cover[column] > 0 && matches(pixels_.slice[column])) continue;
    if (c > begin) underline(begin, c);
    begin = c + 1;
  }
  for (const SliceBox& box : pixels_.boxes) {
    if (matches(box.slice)) underline(box.left, box.right);
  }
}

void LanesPainter::paint_labels(Canvas& canvas, uint32_t trace, const trace::Lane& lane, int top,
                                int height) {
  const trace::Trace& source = *canvas.scene.session.traces()[trace].trace;
  const int margin = canvas.device(4);
  for (const SliceBox& box : pixels_.boxes) {
    if (box.right - box.left < canvas.device(kMinLabelPixels)) continue;
    if (canvas.labels_left-- <= 0) return;
    const trace::StringId name = source.slices().name[lane.first.value + box.slice];
    if (!name) continue;
    const std::string_view words = label_of(source.string(name));
    const QImage* label = labels_->label(words, box.right - box.left - 2 * margin, box.colour);
    if (!label) continue;
    const QPoint at(box.left + margin, top + (height - label->height()) / 2);
    canvas.surface.label(at, *label, words, theme_.label[box.colour]);
  }
}

void paint_graph(LanesSurface& surface, const QRect& rect, const Graph& graph, const TimeAxis& axis,
                 const Theme& theme, double scale) {
  const double span = graph.high() - graph.low();
  if (graph.points().empty() || rect.height() < 4) return;
  const int line = std::max(1, static_cast<int>(std::lround(scale)));
  const int room = rect.height() - 2 * line;
  const auto y_of = [&](double value) {
    const double share = span > 0 ? (value - graph.low()) / span : 0;
    return rect.bottom() - line - static_cast<int>(std::lround(share * room));
  };
  QColor tint = theme.graph;
  tint.setAlpha(46);
  const auto columns = graph_columns(graph, axis);
  for (int x = 0; x < static_cast<int>(columns.size()); ++x) {
    const GraphColumn& column = columns[static_cast<size_t>(x)];
    if (!column.drawn) continue;
    const int top = y_of(column.high);
    const int bottom = y_of(column.low) + line;
    surface.fill({rect.left() + x, top, 1, bottom - top}, theme.graph);
    surface.fill({rect.left() + x, bottom, 1, rect.bottom() - bottom}, tint);
  }
}

}  // namespace redline::viewer
