// What a step's length is made of: the chain of work in which each part had to wait for the one
// before it, walked backward from the step's end.
//
// HolisticTraceAnalysis builds a graph of all events and searches for its longest path. Here only
// the path itself is walked, and every nanosecond of the step belongs to exactly one part. A kernel
// waited for whichever came last: its launch, the work before it on its stream, or work of another
// stream that ended in the gap before it and was launched earlier (the trace may not show the CUDA
// event that joins the two streams). On a host thread the walk goes back along the thread. From a
// synchronising call it goes to the GPU work that ended during the call. From a pause it goes to
// the thread that worked during the pause: so it finds autograd's thread, for which the caller of
// backward() waits. One rank's trace cannot show what a collective waits for; RankWaits does.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "trace/analysis/device_work.h"
#include "trace/analysis/steps.h"
#include "trace/model/model.h"
#include "trace/model/slice_class.h"

namespace redline::trace {

/// A part of the path. The slice of a delay is the work that was delayed; kOther may have no slice.
struct PathPart {
  SliceId slice;
  BreakdownPart kind = BreakdownPart::kOther;
  Interval interval;
  StringId name = {};  ///< of the slice; set in CriticalPath::longest alone
  bool operator==(const PathPart&) const = default;
};

struct PathName {
  StringId name;
  BreakdownPart kind = BreakdownPart::kOther;
  int64_t count = 0;  ///< number of parts
  int64_t total_ns = 0;
};

struct CriticalPath {
  int64_t steps = 0;
  std::array<int64_t, kStepPartCount> mean_ns = {};  ///< mean a step; they sum to the step's length
  std::vector<PathName> names;                       ///< most time first
  std::vector<PathPart> longest;                     ///< single parts, longest first

  [[nodiscard]] int64_t of(BreakdownPart kind) const { return mean_ns[static_cast<size_t>(kind)]; }
  [[nodiscard]] int64_t step_ns() const {
    return std::accumulate(mean_ns.begin(), mean_ns.end(), int64_t{0});
  }
};

/// nullopt without steps.
[[nodiscard]] std::optional<CriticalPath> critical_path(const Trace& trace, const NameKinds& names,
                                                        const DeviceWorkTable& device,
                                                        const std::vector<Step>& steps);

/// Calls visit for every part of every step, latest first.
void walk_critical_path(const Trace& trace, const NameKinds& names, const DeviceWorkTable& device,
                        const std::vector<Step>& steps,
                        const std::function<void(const PathPart&)>& visit);

}  // namespace redline::trace
