// Levels of detail of one lane.
//
// Zoomed out, thousands of slices share a pixel, and to walk all of them for each frame does not
// reach 60 frames a second. So time is cut into buckets of 2^k ns. The finest level has about four
// slices in a bucket, the coarsest is a single bucket. A bucket holds the longest slice that
// touches it, that slice's class (which spares a random read) and how much of the bucket is
// covered. A tree that is asked once for each pixel was measured too: it was 5 times slower and 20
// times larger.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace redline::viewer {

/// The slices of one lane, sorted and not overlapping. `classes` has one entry a slice.
struct LaneColumns {
  std::span<const int64_t> begin_ns;
  std::span<const int64_t> end_ns;
  std::span<const uint8_t> classes;

  [[nodiscard]] size_t size() const { return begin_ns.size(); }
};

class LanePyramid {
 public:
  static constexpr uint32_t kNoSlice = UINT32_MAX;
  /// A lane with fewer slices is simply walked at any zoom; its pyramid is empty.
  static constexpr size_t kMinSlices = 128;

  struct Level {
    int shift = 0;                ///< buckets are 2^shift ns wide and start at origin_ns()
    std::vector<uint32_t> slice;  ///< index in the lane, or kNoSlice
    std::vector<uint8_t> slice_class;
    /// How much is covered, 0 to 255; at least 1 if a slice touches it.
    std::vector<uint8_t> cover;

    [[nodiscard]] size_t size() const { return slice.size(); }
  };

  LanePyramid() = default;
  explicit LanePyramid(const LaneColumns& lane);

  /// The coarsest level whose buckets are at most `ns_per_pixel` wide; null: walk the slices.
  [[nodiscard]] const Level* level_for(double ns_per_pixel) const;

  [[nodiscard]] int64_t origin_ns() const { return origin_ns_; }
  [[nodiscard]] std::span<const Level> levels() const { return levels_; }

 private:
  std::vector<Level> levels_;  ///< finest first
  int64_t origin_ns_ = 0;
};

}  // namespace redline::viewer
