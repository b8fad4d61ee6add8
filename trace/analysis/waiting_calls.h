// What a host thread waits for, as far as a trace shows it: calls that return when GPU work is
// done, and pauses in which another thread works.
#pragma once

#include <cstdint>
#include <vector>

#include "base/intervals.h"
#include "trace/model/model.h"
#include "trace/model/slice_class.h"

namespace redline::trace {

enum class WaitingCall : uint8_t {
  kNone,
  kSynchronises,  ///< waits for all work that was launched before
  kCopies,        ///< may wait for its own copy
};

/// By name (StringId), for runtime and driver calls.
[[nodiscard]] std::vector<WaitingCall> waiting_calls_of(const Trace& trace);

/// Waking another thread takes microseconds, so in shorter pauses a thread did not wait for
/// another.
constexpr int64_t kLeastHandOverNs = 5'000;

/// What another thread last did before a pause of a thread ended.
struct OtherThread {
  SliceId ended;           ///< the outermost slice of those that ended then; none(): a slice began
  int64_t at_ns = 0;       ///< when that was
  bool is_inside = false;  ///< a slice is under way at the pause's end
};

/// Whether the other thread worked for this one in the pause: its slice began and ended in the
/// pause, or it is a collective on the host that ended nearer to the pause's end than to its begin.
/// If this thread was outside all slices (`inside` is none), it may also have been called by a
/// thread that is inside one now, as by Python's run_backward(), or that left a frame of Python.
/// Elsewhere frames do not count: threads that only feed queues have many. `from_ns`: the begin of
/// the pause or, if that is later, of the step.
[[nodiscard]] bool worked_in_pause(const Trace& trace, const NameKinds& names,
                                   const OtherThread& other, SliceId inside, Interval pause,
                                   int64_t from_ns);

}  // namespace redline::trace
