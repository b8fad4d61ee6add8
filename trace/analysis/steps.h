// Training steps: the "ProfilerStep#n" annotations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/intervals.h"
#include "trace/analysis/device_work.h"
#include "trace/model/model.h"

namespace redline::trace {

struct Step {
  std::optional<int64_t> number;  ///< none for the one pseudo step of a trace without annotations
  Interval host;                  ///< the annotation
  /// The step as the TensorBoard plugin takes it: from the end of the step before to the end of the
  /// last GPU work that was launched in it; `host` where no GPU work was launched.
  Interval window;
};

/// Steps in order of time. A last step whose GPU work was clearly cut off by the end of the
/// recording (less than 80 % of the kernels and copies of the step before) is left out, as the
/// plugin does. A trace without annotations is one step, from its first to its last operator.
[[nodiscard]] std::vector<Step> find_steps(const Trace& trace, const NameKinds& names,
                                           const DeviceTable& device);

/// Of the windows' lengths; the deviation is that of a sample.
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
