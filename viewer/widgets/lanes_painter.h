// Slices into a picture. One scanline a lane is computed and copied down; labels are pictures from
// a cache: a full window takes about 5 ms on one core, however many slices there are.
#pragma once

#include <QImage>
#include <QSize>
#include <array>
#include <memory>
#include <vector>

#include "viewer/models/lane_pixels.h"
#include "viewer/models/layout.h"
#include "viewer/widgets/label_cache.h"

namespace redline::viewer {

class LanesPainter {
 public:
  explicit LanesPainter(const Theme& theme);

  /// The part of the lanes that is `scroll` pixels down, as large as `size` (both in logical
  /// pixels); the picture has `scale` device pixels a logical one.
  [[nodiscard]] QImage paint(const Session& session, const Layout& layout, TimeAxis axis,
                             int scroll, QSize size, double scale);

 private:
  struct Canvas;

  void paint_row(Canvas& canvas, const Row& row);
  void paint_lane(Canvas& canvas, uint32_t trace, trace::LaneId lane, int top, int bottom);
  void paint_labels(Canvas& canvas, uint32_t trace, const trace::Lane& lane, int top, int height);
  [[nodiscard]] uint32_t blended(uint8_t slice_class, uint8_t cover) const {
    return blend_[slice_class][cover];
  }

  const Theme& theme_;
  std::array<std::array<uint32_t, 256>, kSliceClassCount> blend_;
  std::unique_ptr<LabelCache> labels_;
  LanePixels pixels_;
  std::vector<uint32_t> scanline_;
};

}  // namespace redline::viewer
