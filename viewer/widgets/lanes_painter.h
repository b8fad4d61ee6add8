// Slices into a picture. One scanline a lane is computed and copied down; labels are pictures from
// a cache: a full window takes about 5 ms on one core, however many slices there are.
#pragma once

#include <QImage>
#include <QSize>
#include <array>
#include <memory>
#include <vector>

#include "viewer/models/colours.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/lane_pixels.h"
#include "viewer/models/layout.h"
#include "viewer/widgets/label_cache.h"
#include "viewer/widgets/lanes_surface.h"

namespace redline::viewer {

/// What is painted: `scroll` logical pixels of the layout are above the picture.
struct Scene {
  const Session& session;
  const DerivedTracks& derived;
  const Layout& layout;
  const Colours* names;  ///< where slices are coloured by name; null: by class
  TimeAxis axis;
  int scroll = 0;
};

class ViewState;
[[nodiscard]] Scene scene_of(const ViewState& state);

class LanesPainter {
 public:
  explicit LanesPainter(const Theme& theme);

  /// `size` is in logical pixels; the picture has `scale` device pixels a logical one.
  [[nodiscard]] QImage paint(const Scene& scene, QSize size, double scale);
  /// The same onto a surface that has the colour of lanes without slices.
  void paint_onto(LanesSurface& surface, const Scene& scene, double scale);

 private:
  struct Canvas;

  void paint_rows(Canvas& canvas, bool pinned);
  void paint_row(Canvas& canvas, const Row& row);
  void paint_slices(Canvas& canvas, const Row& row, const trace::Track& track);
  void paint_device(Canvas& canvas, const DeviceLane& lane, int top, int bottom);
  void paint_lane(Canvas& canvas, uint32_t trace, trace::LaneId lane, int top, int bottom);
  void paint_pixels(Canvas& canvas, int top, int bottom, bool gaps);
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

}  // namespace redline::viewer
