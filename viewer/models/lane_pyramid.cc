#include "viewer/models/lane_pyramid.h"

#include <algorithm>
#include <cmath>

namespace redline::viewer {
namespace {

constexpr uint64_t kSlicesPerBucket = 4;

// Unsigned, so that the distance of any two int64 fits, even in a hostile trace.
uint64_t distance(int64_t from, int64_t to) {
  return static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
}

uint64_t duration(const LaneColumns& lane, uint32_t slice) {
  return distance(lane.begin_ns[slice], lane.end_ns[slice]);
}

LanePyramid::Level empty_level(int shift, size_t buckets) {
  LanePyramid::Level level;
  level.shift = shift;
  level.slice.assign(buckets, LanePyramid::kNoSlice);
  level.slice_class.assign(buckets, 0);
  level.cover.assign(buckets, 0);
  return level;
}

LanePyramid::Level finest_level(const LaneColumns& lane, int64_t origin, int shift,
                                size_t buckets) {
  LanePyramid::Level level = empty_level(shift, buckets);
  std::vector<double> covered(buckets, 0.0);
  for (uint32_t i = 0; i < lane.size(); ++i) {
    const uint64_t begin = distance(origin, lane.begin_ns[i]);
    const uint64_t end = std::max(begin, distance(origin, lane.end_ns[i]));
    const uint64_t last = end > begin ? end - 1 : begin;
    for (uint64_t b = begin >> shift; b <= last >> shift; ++b) {
      const uint64_t low = std::max(begin, b << shift);
      const uint64_t high = std::min(last, (b << shift) + ((uint64_t{1} << shift) - 1));
      if (end > begin) covered[b] += static_cast<double>(high - low) + 1;
      uint32_t& longest = level.slice[b];
      if (longest == LanePyramid::kNoSlice || duration(lane, i) > duration(lane, longest)) {
        longest = i;
      }
    }
  }
  for (size_t b = 0; b < buckets; ++b) {
    if (level.slice[b] == LanePyramid::kNoSlice) continue;
    level.slice_class[b] = lane.classes[level.slice[b]];
    const double share = std::ldexp(covered[b], -shift);
    level.cover[b] = static_cast<uint8_t>(std::clamp(std::lround(share * 255), 1L, 255L));
  }
  return level;
}

LanePyramid::Level coarser_level(const LaneColumns& lane, const LanePyramid::Level& fine) {
  LanePyramid::Level level = empty_level(fine.shift + 1, (fine.size() + 1) / 2);
  for (size_t b = 0; b < level.size(); ++b) {
    size_t best = 2 * b;
    uint32_t cover = fine.cover[best];
    if (const size_t other = best + 1; other < fine.size()) {
      cover += fine.cover[other];
      const uint32_t left = fine.slice[best];
      const uint32_t right = fine.slice[other];
      if (right != LanePyramid::kNoSlice &&
          (left == LanePyramid::kNoSlice || duration(lane, right) > duration(lane, left))) {
        best = other;
      }
    }
    level.slice[b] = fine.slice[best];
    level.slice_class[b] = fine.slice_class[best];
    level.cover[b] = static_cast<uint8_t>((cover + 1) / 2);
  }
  return level;
}

}  // namespace

LanePyramid::LanePyramid(const LaneColumns& lane) {
  if (lane.size() < kMinSlices) return;
  origin_ns_ = lane.begin_ns.front();
  const uint64_t span = std::max<uint64_t>(distance(origin_ns_, lane.end_ns.back()), 1);
  const uint64_t wanted = lane.size() / kSlicesPerBucket;
  int shift = 0;
  while ((span - 1) >> shift >= wanted) ++shift;
  // One bucket more, because a slice of no length may stand at the very end.
  levels_.push_back(finest_level(lane, origin_ns_, shift, (span >> shift) + 1));
  while (levels_.back().size() > 1 && levels_.back().shift < 62) {
    levels_.push_back(coarser_level(lane, levels_.back()));
  }
}

const LanePyramid::Level* LanePyramid::level_for(double ns_per_pixel) const {
  if (levels_.empty()) return nullptr;
  const double base = std::ldexp(1.0, levels_.front().shift);
  if (ns_per_pixel < base) return nullptr;
  const size_t step = static_cast<size_t>(std::floor(std::log2(ns_per_pixel / base)));
  return &levels_[std::min(step, levels_.size() - 1)];
}

}  // namespace redline::viewer
