// Where a thread was, asked for times that only ever become earlier.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model.h"

namespace redline::trace {

/// What a thread did just before a time.
struct ThreadMoment {
  SliceId inside;        ///< the innermost slice around the time; none outside all
  int64_t since_ns = 0;  ///< it has been so since then: a child's end, or its own begin
  SliceId ended;         ///< the outermost slice of those that ended at since_ns, if one did
};

/// Each slice is passed once however often is asked: the walk over a whole trace is linear.
class ThreadCursor {
 public:
  ThreadCursor(const Trace& trace, const Track& track) : trace_(&trace), track_(&track) {
    for (uint32_t depth = 0; depth < track.lane_count; ++depth) {
      left_.push_back(trace.lanes()[track.first_lane.value + depth].count);
    }
  }

  [[nodiscard]] ThreadMoment before(int64_t time_ns) {
    const auto& slices = trace_->slices();
    SliceId inside, ended;
    int64_t since_ns = INT64_MIN;
    for (uint32_t depth = 0; depth < track_->lane_count; ++depth) {
      const SliceId slice = last_begun(depth, time_ns);
      if (!slice) break;
      const int64_t end_ns = slices.end_ns[slice.value];
      if (end_ns >= time_ns) {
        inside = slice;
        since_ns = slices.begin_ns[slice.value];
        continue;
      }
      if (end_ns > since_ns) {
        since_ns = end_ns;
        ended = slice;
      }
      break;  // what is deeper lies inside
    }
    return {inside, since_ns, ended};
  }

 private:
  SliceId last_begun(uint32_t depth, int64_t time_ns) {
    const Lane& lane = trace_->lanes()[track_->first_lane.value + depth];
    const auto& begins = trace_->slices().begin_ns;
    uint32_t& left = left_[depth];
    while (left > 0 && begins[lane.first.value + left - 1] >= time_ns) --left;
    return left == 0 ? SliceId::none() : SliceId{lane.first.value + left - 1};
  }

  const Trace* trace_;
  const Track* track_;
  std::vector<uint32_t> left_;  // of each lane, slices that began before the time
};

}  // namespace redline::trace
