#include <fmt/format.h>

#include <algorithm>

#include "trace/advice_rules.h"
#include "trace/format.h"

namespace redline::trace {
namespace {

constexpr double kSkewShare = 0.10;  // of the step

}  // namespace

std::optional<Finding> straggler(const RankComparison& comparison) {
  if (!comparison.straggler) return std::nullopt;
  int64_t step_ns = 0;
  for (const RankTime& time : comparison.times) step_ns = std::max(step_ns, time.step_ns);
  const double skew_share =
      static_cast<double>(comparison.skew_ns) / static_cast<double>(std::max<int64_t>(1, step_ns));
  if (skew_share <= kSkewShare) return std::nullopt;
  Finding finding;
  finding.rule = "straggler";
  finding.estimated_speedup = speedup_without(comparison.skew_ns, step_ns);
  finding.headline = fmt::format("Rank {} is late: others wait {} a step", *comparison.straggler,
                                 format_ns(comparison.skew_ns));
  finding.detail = fmt::format("{} of the step; look for uneven data, or a busier machine",
                               format_percent(skew_share));
  finding.evidence = {{"rank", static_cast<double>(*comparison.straggler)},
                      {"skew_ns", static_cast<double>(comparison.skew_ns)},
                      {"step_share", skew_share}};
  return finding;
}

}  // namespace redline::trace
