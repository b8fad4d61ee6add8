#include "trace/analysis/loader_waits.h"

#include <algorithm>
#include <vector>

#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

struct LoaderCall {
  Interval interval;
  size_t track = 0;
};

size_t track_number(const Trace& trace, SliceId slice) {
  return trace.lanes()[trace.slices().lane[slice.value].value].track.value;
}

// What is left of `times` while no operator runs outside loaders.
Intervals without_operators(const Trace& trace, const HostTree& tree, const Intervals& times) {
  Coverage operators(times);
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (category == Category::kCpuOp && !is_in_loader(tree, slice)) {
      operators.add(interval_of(trace, slice));
    }
  });
  return subtract(times, operators.take());
}

}  // namespace

Intervals loader_waits(const Trace& trace, const HostTree& tree, const Intervals& within) {
  std::vector<LoaderCall> calls;
  std::vector<bool> marks_steps(trace.tracks().size());
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!is_host_node(category)) return;
    const bool in_step = (tree.kinds_around[slice.value] & kStepName) != 0;
    if (in_step && category == Category::kUserAnnotation) {
      marks_steps[track_number(trace, slice)] = true;
    }
    if (!is_in_loader(tree, slice)) return;
    calls.push_back({interval_of(trace, slice), track_number(trace, slice)});
  });
  const bool has_marks = std::ranges::find(marks_steps, true) != marks_steps.end();
  Coverage waits(within), read_ahead(within);
  for (const LoaderCall& call : calls) {
    (has_marks && !marks_steps[call.track] ? read_ahead : waits).add(call.interval);
  }
  const Intervals beside = read_ahead.take();
  if (beside.empty()) return waits.take();
  return unite(waits.take(), without_operators(trace, tree, beside));
}

}  // namespace redline::trace
