#include "trace/report/mean_step.h"

#include <cmath>
#include <vector>

#include "trace/analysis/rank_weights.h"

namespace redline::trace {

MeanStep mean_step(const Report& report) {
  const std::vector<double> weights = rank_weights(report.traces);
  const auto mean_of = [&](auto value_of) {
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      sum += weights[i] * static_cast<double>(value_of(report.traces[i]));
    }
    return std::llround(sum);
  };
  MeanStep mean;
  mean.mean_ns = mean_of([](const Analysis& each) { return each.step_times.mean_ns; });
  mean.deviation_ns = mean_of([](const Analysis& each) { return each.step_times.deviation_ns; });
  for (size_t part = 0; part < kBreakdownPartCount; ++part) {
    mean.part_ns[part] =
        mean_of([part](const Analysis& each) { return each.breakdown.part_ns[part]; });
  }
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
