// The questions that everybody asks about one slice, its interval, its name, its track, and about
// the lanes of a track.
#pragma once

#include <span>
#include <string_view>

#include "base/intervals.h"
#include "trace/model/category.h"
#include "trace/model/model.h"

namespace redline::trace {

[[nodiscard]] inline Interval interval_of(const Trace& trace, SliceId slice) {
  return {trace.slices().begin_ns[slice.value], trace.slices().end_ns[slice.value]};
}

[[nodiscard]] inline int64_t duration_ns(const Trace& trace, SliceId slice) {
  return interval_of(trace, slice).length_ns();
}

[[nodiscard]] inline std::string_view name_of(const Trace& trace, SliceId slice) {
  return trace.string(trace.slices().name[slice.value]);
}

[[nodiscard]] inline const Track& track_of(const Trace& trace, SliceId slice) {
  const Lane& lane = trace.lanes()[trace.slices().lane[slice.value].value];
  return trace.tracks()[lane.track.value];
}

/// The lanes of a track, by depth.
[[nodiscard]] inline std::span<const Lane> lanes_of(const Trace& trace, const Track& track) {
  if (track.lane_count == 0) return {};
  return trace.lanes().subspan(track.first_lane.value, track.lane_count);
}

/// A lane's part of a column of slices.
template <typename Value>
[[nodiscard]] std::span<const Value> of_lane(std::span<const Value> column, const Lane& lane) {
  if (lane.count == 0) return {};
  return column.subspan(lane.first.value, lane.count);
}

[[nodiscard]] inline bool is_device_work(Category category) {
  return category == Category::kKernel || category == Category::kMemcpy ||
         category == Category::kMemset;
}

/// What is on a stream's track, though a thread may share it: see ThreadCursor.
[[nodiscard]] inline bool is_on_stream(Category category) {
  return is_launched(category) || category == Category::kGpuUserAnnotation;
}

/// Calls visit(SliceId, Category) for every slice.
template <typename Visit>
void for_each_slice(const Trace& trace, Visit visit) {
  const auto& categories = trace.slices().category;
  for (uint32_t i = 0; i < categories.size(); ++i) visit(SliceId{i}, categories[i]);
}

}  // namespace redline::trace
