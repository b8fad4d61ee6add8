// Paints slices and graphs into a picture, and over them what the mouse has changed.
//
// A frame must not take longer if a trace has more slices. So slices are not drawn one by one: one
// line of pixels is computed for each lane and copied down the lane's height, and names are
// pictures from a cache. A full window takes about 5 ms on one core.
#pragma once

#include <QImage>
#include <QSize>
#include <array>
#include <memory>
#include <vector>

#include "viewer/models/colours.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/graph.h"
#include "viewer/models/lane_pixels.h"
#include "viewer/models/layout.h"
#include "viewer/models/search.h"
#include "viewer/widgets/label_cache.h"
#include "viewer/widgets/lanes_surface.h"
#include "viewer/widgets/theme.h"

namespace redline::viewer {

/// What is painted: `scroll` logical pixels of the layout are above the picture.
struct Scene {
  const Session& session;
  const DerivedTracks& derived;
  const Layout& layout;
  const Colours* names;  ///< to colour slices by name; null: by class
  TimeAxis axis;
  int scroll = 0;
  const Search* hits = nullptr;  ///< slices to underline; null: none
};

class ViewState;
[[nodiscard]] Scene scene_of(const ViewState& state);

class LanesPainter {
 public:
  explicit LanesPainter(const Theme& theme);

  /// `size` is in logical pixels; the picture has `scale` device pixels a logical one.
  [[nodiscard]] QImage paint(const Scene& scene, QSize size, double scale);
  /// Paints the same onto a surface that already has the colour of empty lanes.
  void paint_onto(LanesSurface& surface, const Scene& scene, double scale);

 private:
  struct Canvas;

  void paint_rows(Canvas& canvas, bool pinned);
  void paint_row(Canvas& canvas, const Row& row);
  void paint_slices(Canvas& canvas, const Row& row, const trace::Track& track);
  /// What the GPU of a folded group did, along the lower end of the group's header.
  void paint_outline(Canvas& canvas, const SessionTrace& rank, int top, int bottom);
  void paint_folded(Canvas& canvas, const TrackGroup& group, int top, int bottom);
  void paint_runtime(Canvas& canvas, const RuntimeLane& lane, int top, int bottom);
  void paint_marks(Canvas& canvas, const MarksLane& lane, int top, int bottom);
  void paint_device(Canvas& canvas, const DeviceLane& lane, int top, int bottom,
                    const QColor& background);
  void paint_lane(Canvas& canvas, uint32_t trace, trace::LaneId lane, int top, int bottom);
  void paint_pixels(Canvas& canvas, int top, int bottom, bool gaps);
  void paint_hits(Canvas& canvas, uint32_t trace, const trace::Lane& lane, int bottom);
  void paint_labels(Canvas& canvas, uint32_t trace, const trace::Lane& lane, int top, int height);
  [[nodiscard]] uint32_t blended(uint8_t colour, uint8_t cover) const {
    return blend_[colour][cover];
  }

  const Theme& theme_;
  std::array<std::array<uint32_t, 256>, kColourCount> blend_;
  std::unique_ptr<LabelCache> labels_;
  LanePixels pixels_;
  std::vector<uint32_t> scanline_;
};

/// Paints a graph's line and the tint under it into `rect`. `axis` is in the graph's time and as
/// wide as `rect`.
void paint_graph(LanesSurface& surface, const QRect& rect, const Graph& graph, const TimeAxis& axis,
                 const Theme& theme, double scale);

/// Paints what lies over the slices: the frames of the hovered and the selected one, marks, arrows,
/// the selected area.
void paint_overlay(QPainter& painter, const ViewState& state, QSize size);

}  // namespace redline::viewer
