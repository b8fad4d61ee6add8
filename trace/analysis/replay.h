// How long a trace's steps would have been if parts of it had taken another time.
//
// The critical path (critical_path.h) says what a step waited for; but when a part of it gets
// shorter, another chain of work may become the longest. So here all work happens again, in the
// order in which it ended: a thread goes on when its slice is done; GPU work begins after its
// launch, after the work before it on its stream and after the work of another stream that it had
// waited for; a synchronising call returns when the GPU is done; a pause ends when the thread that
// worked in it is done. Which of them waited for whom is decided as for the critical path. What
// was between a cause and its effect stays as long as it was.
//
// If nothing changes, each step comes out as long as it was, to the nanosecond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/analysis/analysis.h"

namespace redline::trace {

/// How the lengths of slices change.
struct Change {
  /// By slice: its new length by its old one. For a slice of a thread it is that of the time in
  /// which the slice is the innermost one.
  std::vector<float> factor;
  /// Of worker processes: the new time between two batches by the old one, where the job waited for
  /// them.
  double loader_factor = 1;

  explicit Change(const Trace& trace) : factor(trace.slice_count(), 1) {}

  void scale(SliceId slice, double by) { factor[slice.value] *= static_cast<float>(by); }
};

/// The new lengths of the first `step_count` of Analysis::steps.
[[nodiscard]] std::vector<int64_t> replay(const Analysis& analysis, const Change& change,
                                          size_t step_count = SIZE_MAX);

/// So many steps that replaying them takes a tenth of a second, at least one.
[[nodiscard]] size_t steps_for_a_quick_replay(const Analysis& analysis);

}  // namespace redline::trace
