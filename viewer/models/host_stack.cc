#include "viewer/models/host_stack.h"

#include <algorithm>

#include "trace/model/slice_view.h"

namespace redline::viewer {

std::vector<trace::SliceId> host_stack(const trace::Trace& trace, trace::SliceId slice) {
  std::vector<trace::SliceId> around;
  if (!slice) return around;
  const trace::Slices& slices = trace.slices();
  const int64_t begin = slices.begin_ns[slice.value];
  const int64_t end = slices.end_ns[slice.value];
  const trace::Lane& own = trace.lanes()[slices.lane[slice.value].value];
  const trace::Track& track = trace.tracks()[own.track.value];
  for (uint32_t depth = own.depth; depth-- > 0;) {
    const trace::Lane& lane = trace.lanes()[track.first_lane.value + depth];
    const auto begins = trace::of_lane(slices.begin_ns, lane);
    const auto after = std::upper_bound(begins.begin(), begins.end(), begin);
    if (after == begins.begin()) continue;
    const auto before = lane.first.value + static_cast<uint32_t>(after - begins.begin()) - 1;
    if (slices.end_ns[before] >= end) around.push_back({before});
  }
  return around;
}

}  // namespace redline::viewer
