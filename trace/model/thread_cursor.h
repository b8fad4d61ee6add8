// Tells what a thread was doing at a time. Each time asked for must be earlier than the one before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "trace/model/slice_view.h"

namespace redline::trace {

/// What a thread did just before a time.
struct ThreadMoment {
  SliceId inside;        ///< the innermost slice around the time; none() if there is none
  SliceId work;          ///< the innermost one that is no frame of Python
  int64_t since_ns = 0;  ///< since when: the end of its last child, or its own begin
  SliceId ended;         ///< the outermost slice of those that ended at since_ns, if one did
};

/// The cursor passes each slice once, however many times are asked for and however deep the slice
/// lies, so walking over a whole trace takes linear time. Where stacks were recorded, it looks at
/// each lane of the thread each time, and so where the thread shares a track with GPU work: as
/// process 1 of a container it may have the pid and tid of a stream.
class ThreadCursor {
 public:
  ThreadCursor(const Trace& trace, const Track& track) : trace_(&trace), track_(&track) {
    for (const Lane& lane : lanes_of(trace, track)) left_.push_back(lane.count);
    if (track.lane_count > kMostLanes) return;
    has_gpu_work_ = track.kind == TrackKind::kGpuStream;
    for (uint32_t depth = 1; depth < track.lane_count; ++depth) {
      has_outliving_ = has_outliving_ || outlives_what_is_around(depth);
    }
  }

  [[nodiscard]] ThreadMoment before(int64_t time_ns) {
    if (has_outliving_ || has_gpu_work_) return before_in_all_lanes(time_ns);
    const auto& slices = trace_->slices();
    // A slice begins no earlier than the one around it, so the deepest open lanes close first.
    while (open_ > 0 && slices.begin_ns[last_left(open_ - 1).value] >= time_ns) --open_;
    SliceId ended;
    for (; open_ < track_->lane_count; ++open_) {
      const SliceId slice = last_begun(open_, time_ns);
      if (!slice) break;
      if (slices.end_ns[slice.value] >= time_ns) continue;
      ended = slice;
      break;  // what is deeper lies inside
    }
    const SliceId inside = open_ == 0 ? SliceId::none() : last_left(open_ - 1);
    int64_t since_ns = inside ? slices.begin_ns[inside.value] : INT64_MIN;
    if (ended && slices.end_ns[ended.value] > since_ns) {
      since_ns = slices.end_ns[ended.value];
    } else {
      ended = SliceId::none();
    }
    return {inside, innermost_work(), since_ns, ended};
  }

 private:
  // Python ends deeper recursion. Of a thread that is deeper, a walk would take quadratic time.
  static constexpr uint32_t kMostLanes = 1000;

  [[nodiscard]] bool is_frame(SliceId slice) const {
    return trace_->slices().category[slice.value] == Category::kPythonFunction;
  }

  // Whether the thread had nothing to do with it.
  [[nodiscard]] bool is_passed_over(uint32_t slice) const {
    return has_gpu_work_ && is_on_stream(trace_->slices().category[slice]);
  }

  [[nodiscard]] SliceId innermost_work() const {
    for (uint32_t depth = open_; depth > 0; --depth) {
      if (const SliceId slice = last_left(depth - 1); !is_frame(slice)) return slice;
    }
    return SliceId::none();
  }

  // Whether a slice of the lane ends later than the one above it, in which it began. With stacks
  // each annotation does: it begins in the frames of its __enter__() and outlives them, so the
  // lanes between are empty for the rest of it.
  [[nodiscard]] bool outlives_what_is_around(uint32_t depth) const {
    const auto& slices = trace_->slices();
    const Lane* lane = &trace_->lanes()[track_->first_lane.value + depth];
    const Lane& above = *(lane - 1);
    uint32_t around = above.first.value;
    for (uint32_t i = lane->first.value; i < lane->end(); ++i) {
      while (around + 1 < above.end() && slices.begin_ns[around + 1] <= slices.begin_ns[i]) {
        ++around;
      }
      if (slices.end_ns[around] < slices.end_ns[i]) return true;
    }
    return false;
  }

  // The same where lanes below one that has ended may be under way.
  ThreadMoment before_in_all_lanes(int64_t time_ns) {
    const auto& slices = trace_->slices();
    ThreadMoment moment{.inside = {}, .work = {}, .since_ns = INT64_MIN, .ended = {}};
    int64_t ended_ns = INT64_MIN, work_ns = INT64_MIN;
    for (uint32_t depth = 0; depth < track_->lane_count; ++depth) {
      const SliceId slice = last_begun(depth, time_ns);
      if (!slice) continue;
      const int64_t begin_ns = slices.begin_ns[slice.value], end_ns = slices.end_ns[slice.value];
      if (end_ns >= time_ns) {
        if (begin_ns >= moment.since_ns) moment.inside = slice, moment.since_ns = begin_ns;
        if (begin_ns >= work_ns && !is_frame(slice)) moment.work = slice, work_ns = begin_ns;
      } else if (end_ns > ended_ns) {
        moment.ended = slice, ended_ns = end_ns;
      }
    }
    if (ended_ns <= moment.since_ns) moment.ended = SliceId::none();
    moment.since_ns = std::max(moment.since_ns, ended_ns);
    return moment;
  }

  SliceId last_begun(uint32_t depth, int64_t time_ns) {
    const Lane& lane = trace_->lanes()[track_->first_lane.value + depth];
    const auto& begins = trace_->slices().begin_ns;
    uint32_t& left = left_[depth];
    const auto last = [&] { return lane.first.value + left - 1; };
    while (left > 0 && (begins[last()] >= time_ns || is_passed_over(last()))) --left;
    return left == 0 ? SliceId::none() : SliceId{last()};
  }

  // The last slice that is left in a lane, which must have one.
  [[nodiscard]] SliceId last_left(uint32_t depth) const {
    return SliceId{trace_->lanes()[track_->first_lane.value + depth].first.value + left_[depth] -
                   1};
  }

  const Trace* trace_;
  const Track* track_;
  uint32_t open_ = 0;  // lanes whose last slice left was under way at the last time
  bool has_outliving_ = false;
  bool has_gpu_work_ = false;
  std::vector<uint32_t> left_;  // for each lane, how many slices began before the last time
};

}  // namespace redline::trace
