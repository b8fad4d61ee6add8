#include "trace/mean_step.h"

namespace redline::trace {

MeanStep mean_step(const Report& report) {
  MeanStep mean;
  for (const Analysis& analysis : report.traces) {
    mean.mean_ns += analysis.step_times.mean_ns;
    mean.deviation_ns += analysis.step_times.deviation_ns;
    for (size_t i = 0; i < kStepPartCount; ++i) mean.part_ns[i] += analysis.breakdown.part_ns[i];
  }
  const auto traces = static_cast<int64_t>(report.traces.size());
  if (traces == 0) return mean;
  mean.mean_ns /= traces;
  mean.deviation_ns /= traces;
  for (int64_t& part_ns : mean.part_ns) part_ns /= traces;
  return mean;
}

}  // namespace redline::trace
