// What a step's length is made of: the chain of work in which each part had to wait for the one
// before it, walked backward from the step's end.
//
// HolisticTraceAnalysis builds a graph of all events and asks for its longest path; here only the
// path is looked at, and every nanosecond of the step belongs to exactly one part. A kernel follows
// on whichever came last: its launch, the work before it on the stream, or work of another stream
// that ended in the gap before it and was launched earlier (an event that the trace may not show).
// A host thread follows on its own past; out of a synchronising call on the GPU work that ended in
// it; out of a pause on the thread that worked in the pause, as the thread that called backward()
// does. One rank's trace cannot show what a collective waits for: that is in RankWaits.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/analysis/device_work.h"
#include "trace/analysis/steps.h"
#include "trace/model/model.h"
#include "trace/model/slice_class.h"

namespace redline::trace {

/// A part of the path. Delays have the slice that they lead to; kOther may have none.
struct PathPart {
  SliceId slice;
  StepPart kind = StepPart::kOther;
  Interval interval;
  bool operator==(const PathPart&) const = default;
};

struct PathName {
  StringId name;
  StepPart kind = StepPart::kOther;
  int64_t count = 0;  ///< of parts
  int64_t total_ns = 0;
};

struct CriticalPath {
  int64_t steps = 0;
  std::array<int64_t, kStepPartCount> mean_ns = {};  ///< of a step; they sum to its length
  std::vector<PathName> names;                       ///< most time first
  std::vector<PathPart> longest;                     ///< single parts, longest first

  [[nodiscard]] int64_t of(StepPart kind) const { return mean_ns[static_cast<size_t>(kind)]; }
};

/// None without steps.
[[nodiscard]] std::optional<CriticalPath> critical_path(const Trace& trace, const NameKinds& names,
                                                        const DeviceWorkTable& device,
                                                        const std::vector<Step>& steps);

/// Calls visit for every part of every step, latest first.
void walk_critical_path(const Trace& trace, const NameKinds& names, const DeviceWorkTable& device,
                        const std::vector<Step>& steps,
                        const std::function<void(const PathPart&)>& visit);

}  // namespace redline::trace
