// What one lane looks like at a zoom: pixel columns where slices are narrower than two pixels, and
// boxes for the slices that can be told apart. Arithmetic only, so it is tested without a window; a
// painter turns it into colours.
#pragma once

#include <cstdint>
#include <vector>

#include "viewer/models/lane_pyramid.h"
#include "viewer/models/time_axis.h"

namespace redline::viewer {

/// A slice at least kBoxPixels wide, cut to the view. `slice` is its index in the lane.
struct SliceBox {
  uint32_t slice = 0;
  uint8_t colour = 0;  ///< its class
  int left = 0;
  int right = 0;  ///< one past the last column
};

struct LanePixels {
  static constexpr double kBoxPixels = 2.0;

  std::vector<uint8_t> cover;   ///< how much of each column is covered, 0 to 255; without the boxes
  std::vector<uint8_t> colour;  ///< the class of the slice that has most of the column
  std::vector<uint32_t> slice;  ///< that slice's index in the lane
  std::vector<SliceBox> boxes;  ///< left to right

  void reset(int width);
};

/// Fills `pixels` for the lane. The time it takes grows with the pixels, not with the slices.
/// `axis` is in the lane's own time.
void draw_lane(const LaneColumns& lane, const LanePyramid& pyramid, const TimeAxis& axis,
               LanePixels& pixels);

/// The slice of the lane that lies under `time_ns`, or else the nearest within `tolerance_ns` of
/// it, so that slices of less than a pixel can be clicked. kNoSlice if there is none.
[[nodiscard]] uint32_t slice_at(const LaneColumns& lane, int64_t time_ns, int64_t tolerance_ns);

}  // namespace redline::viewer
