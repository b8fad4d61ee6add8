// Training steps: the "ProfilerStep#n" annotations, and what their time is spent on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/intervals.h"
#include "trace/analysis/device_work.h"
#include "trace/model/model.h"

namespace redline::trace {

struct Step {
  /// nullopt for the one pseudo step of a trace without annotations
  std::optional<int64_t> number;
  Interval host;  ///< the annotation
  /// The step as the TensorBoard plugin takes it: from the end of the step before to the end of the
  /// last GPU work that was launched in it. Equals `host` if no GPU work was launched.
  Interval window;
  SliceId slice = {};  ///< the annotation's; none for the pseudo step
};

/// Steps in order of time. A last step whose GPU work was clearly cut off by the end of the
/// recording (less than 80 % of the kernels and copies of the step before) is left out, as the
/// plugin does. Where no step launched GPU work, a last step without operators is left out if the
/// step before has some. A trace without annotations is one step, from the first to the last of its
/// operators, annotations and launches of GPU work or, without operators, of whatever is not the
/// profiler's own.
[[nodiscard]] std::vector<Step> find_steps(const Trace& trace, const DeviceWorkTable& device);

/// All annotations of steps on the first thread that has any, in order of time, without those that
/// lie within another; `window` is not widened to GPU work.
[[nodiscard]] std::vector<Step> annotated_steps(const Trace& trace);

/// The step that began last before a time by `part` (Step::host or Step::window), if the time is in
/// that part of it; else null.
[[nodiscard]] const Step* step_at(const std::vector<Step>& steps, Interval Step::*part,
                                  int64_t time_ns);

/// The steps' windows, merged.
[[nodiscard]] Intervals windows_of(const std::vector<Step>& steps);

/// What a piece of a step's time is spent on. A breakdown has the first eight; the two delays only
/// occur on a critical path.
enum class BreakdownPart : uint8_t {
  kKernel,
  kCommunication,
  kMemcpy,
  kMemset,
  kRuntime,
  kDataLoader,
  kCpu,
  kOther,        ///< on a critical path: the host outside operators (Python, waking up)
  kDeviceWait,   ///< between two pieces of GPU work, both launched long before
  kLaunchDelay,  ///< from a launch to its work
};
constexpr size_t kBreakdownPartCount = 8;
constexpr size_t kStepPartCount = 10;
constexpr std::array<std::string_view, kStepPartCount> kBreakdownPartNames = {
    "kernel",     "communication", "memcpy", "memset",      "runtime",
    "dataloader", "cpu",           "other",  "device_wait", "launch_delay"};

[[nodiscard]] constexpr std::string_view part_name(BreakdownPart part) {
  return kBreakdownPartNames[static_cast<size_t>(part)];
}

[[nodiscard]] constexpr bool is_on_device(BreakdownPart part) {
  return part <= BreakdownPart::kMemset;
}
[[nodiscard]] BreakdownPart part_of(const DeviceWork& work);

/// Statistics of the lengths of the steps' windows. `deviation_ns` is the sample standard
/// deviation.
struct StepTimes {
  int64_t count = 0;
  int64_t mean_ns = 0;
  int64_t deviation_ns = 0;
  int64_t min_ns = 0;
  int64_t median_ns = 0;
  int64_t max_ns = 0;
};
[[nodiscard]] StepTimes step_times(const std::vector<Step>& steps);

}  // namespace redline::trace
