#include "trace/report/mean_step.h"

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

std::optional<PhaseTimes> mean_phases(const Report& report) {
  PhaseTimes mean{};
  int64_t count = 0;
  for (const Analysis& analysis : report.traces) {
    if (!analysis.phases) continue;
    ++count;
    for (size_t i = 0; i < kPhaseCount; ++i) {
      mean[i].host_ns += (*analysis.phases)[i].host_ns;
      mean[i].device_ns += (*analysis.phases)[i].device_ns;
    }
  }
  if (count == 0) return std::nullopt;
  for (PhaseTime& phase : mean) {
    phase.host_ns /= count;
    phase.device_ns /= count;
  }
  return mean;
}

}  // namespace redline::trace
