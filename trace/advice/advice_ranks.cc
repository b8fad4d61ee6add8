#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/format.h"
#include "trace/advice/advice_rules.h"
#include "trace/model/category.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr double kExposedShare = 0.05;  // of the step
constexpr double kSkewShare = 0.10;
constexpr int64_t kManyCalls = 100;        // a step
constexpr int64_t kShortCallNs = 500'000;  // too short to reach the link's rate

// What cures it depends on which collective waits.
std::string cure_of(const Collective& longest, int64_t calls_a_step, int64_t mean_ns) {
  const std::string_view name = longest.name;
  if (contains(name, "SendRecv") || contains(name, "AllToAll") || contains(name, "all_to_all")) {
    return "exchange the next batch's data while this one is computed";
  }
  if (contains(name, "AllGather") || contains(name, "ReduceScatter") ||
      contains(name, "all_gather") || contains(name, "reduce_scatter")) {
    return "prefetch the next shard (backward_prefetch, forward_prefetch), or shard less";
  }
  if (calls_a_step >= kManyCalls && mean_ns < kShortCallNs) {
    return fmt::format(
        "{} small calls a step: gather gradients in buckets (DDP's "
        "bucket_cap_mb), or a larger batch",
        format_count(calls_a_step));
  }
  return "larger batches, or accumulation under no_sync(), need it less often";
}

// The slices of the collective that took the most time.
std::vector<SliceId> calls_of(const Activity& activity, const Collective& collective) {
  const Trace& trace = activity.trace();
  const StringId name = trace.find_string(collective.name);
  std::vector<SliceId> calls;
  for_each_slice(trace, [&](SliceId slice, Category) {
    if (trace.slices().name[slice.value] == name &&
        total_within_ns(activity.steps(), interval_of(trace, slice)) > 0) {
      calls.push_back(slice);
    }
  });
  return calls;
}

}  // namespace

std::optional<Finding> communication(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  if (analysis.communication.table.empty()) return std::nullopt;
  const int64_t exposed_ns =
      mean_exposed_ns(analysis.communication, analysis.steps) * activity.step_count();
  const StepShare part(activity, exposed_ns);
  if (part.share <= kExposedShare) return std::nullopt;
  int64_t count = 0, time_ns = 0;
  for (const Collective& row : analysis.communication.table) {
    count += row.count;
    time_ns += row.total_ns;
  }
  Finding finding = finding_on("communication", activity, exposed_ns);
  finding.headline =
      fmt::format("Communication: {} a step with nothing beside", format_ns(part.per_step_ns));
  finding.detail = cure_of(analysis.communication.table.front(), count / activity.step_count(),
                           count == 0 ? 0 : time_ns / count);
  const int64_t step_part_ns = time_ns / activity.step_count();
  finding.evidence.emplace_back("communication_ns", static_cast<double>(step_part_ns));
  finding.evidence.emplace_back("calls", static_cast<double>(count));
  finding.events =
      longest(activity.trace(), calls_of(activity, analysis.communication.table.front()));
  finding.knob = "batch_size=1..4096";
  return finding;
}

std::optional<Finding> straggler(const RankComparison& comparison,
                                 std::span<const Analysis* const> ranks) {
  if (!comparison.straggler) return std::nullopt;
  int64_t step_ns = 1, waiting_ns = 0;
  for (const RankTime& time : comparison.times) {
    step_ns = std::max(step_ns, time.step_ns);
    if (time.rank == *comparison.straggler) continue;
    waiting_ns = std::max(waiting_ns, time.exposed_communication_ns);
  }
  // Who waits does so in a collective: ranks that only differ in their work wait for nobody.
  const int64_t late_ns = std::min(comparison.skew_ns, waiting_ns);
  const double late_share = static_cast<double>(late_ns) / static_cast<double>(step_ns);
  if (late_share <= kSkewShare) return std::nullopt;
  Finding finding;
  finding.rule = "straggler";
  finding.estimated_speedup = speedup_without(late_ns, step_ns);
  finding.headline = fmt::format("Rank {} is late: others wait {} a step", *comparison.straggler,
                                 format_ns(late_ns));
  finding.detail = fmt::format("{} of the step; look for uneven data, or a busier machine",
                               format_percent(late_share));
  finding.evidence = {{"rank", static_cast<double>(*comparison.straggler)},
                      {"removable_ns", static_cast<double>(late_ns)},
                      {"skew_ns", static_cast<double>(comparison.skew_ns)},
                      {"step_share", late_share}};
  for (size_t i = 0; i < ranks.size() && i < comparison.times.size(); ++i) {
    if (comparison.times[i].rank != *comparison.straggler) continue;
    const Trace& trace = *ranks[i]->trace;
    std::vector<SliceId> steps;
    for_each_slice(trace, [&](SliceId slice, Category category) {
      if (is_host_node(category) && is_step_name(name_of(trace, slice))) steps.push_back(slice);
    });
    finding.events = longest(trace, steps);
    finding.trace = i;
    break;
  }
  return finding;
}

}  // namespace redline::trace
