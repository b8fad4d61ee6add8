#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "trace/advice/advice_rules.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr size_t kMostEvents = 5;
constexpr int64_t kFewWorkers = 4;
constexpr int64_t kManyWorkers = 16;

// How much shorter all steps together would be; nullopt where it takes long to know.
std::optional<int64_t> won_by(const Activity& activity, const Change& change) {
  constexpr size_t kMostSlices = 1'000'000;  // of a step: replaying it takes half a second
  const Analysis& analysis = activity.analysis();
  if (analysis.trace->slice_count() / analysis.steps.size() > kMostSlices) return std::nullopt;
  const std::vector<int64_t> lengths_ns =
      replay(analysis, change, steps_for_a_quick_replay(analysis));
  double before_ns = 0, after_ns = 0;
  for (size_t i = 0; i < lengths_ns.size(); ++i) {
    before_ns += static_cast<double>(analysis.steps[i].window.length_ns());
    after_ns += static_cast<double>(lengths_ns[i]);
  }
  if (before_ns <= 0) return std::nullopt;
  const double share = std::max(0.0, 1 - after_ns / before_ns);
  return std::llround(static_cast<double>(activity.steps_ns()) * share);
}

}  // namespace

int64_t least_ranks(const RankSummary& rank) {
  if (rank.facts.world_size) return *rank.facts.world_size;
  int64_t least = 1;
  for (const Collective& row : rank.collectives) least = std::max<int64_t>(least, row.ranks);
  return least;
}

std::optional<double> speedup_without(int64_t removed_ns, int64_t whole_ns) {
  if (removed_ns >= whole_ns) return std::nullopt;
  return static_cast<double>(whole_ns) / static_cast<double>(whole_ns - removed_ns);
}

StepShare::StepShare(const Activity& activity, int64_t total_ns) {
  if (activity.steps_ns() == 0) return;
  per_step_ns = total_ns / activity.step_count();
  share = static_cast<double>(total_ns) / static_cast<double>(activity.steps_ns());
}

Finding finding_on(const char* rule, const Activity& activity, int64_t total_ns) {
  const StepShare part(activity, total_ns);
  Finding finding;
  finding.rule = rule;
  finding.estimated_speedup = speedup_without(total_ns, activity.steps_ns());
  finding.tell("removable_ns", part.per_step_ns);
  finding.tell("step_share", part.share);
  return finding;
}

Finding finding_on(const char* rule, const Activity& activity, const Change& change) {
  if (const auto won_ns = won_by(activity, change)) return finding_on(rule, activity, *won_ns);
  Finding finding;
  finding.rule = rule;
  return finding;
}

EvidenceEvent event_of(const Trace& trace, SliceId slice) {
  const Interval interval = interval_of(trace, slice);
  return {slice, interval.begin_ns, interval.end_ns, std::string(name_of(trace, slice))};
}

bool begins_in_steps(const Activity& activity, SliceId slice) {
  const Trace& trace = activity.trace();
  const auto part =
      is_device_work(trace.slices().category[slice.value]) ? &Step::window : &Step::host;
  return step_at(activity.analysis().steps, part, interval_of(trace, slice).begin_ns) != nullptr;
}

std::optional<int64_t> training_steps(const Activity& activity) {
  if (activity.analysis().has_marked_steps()) return activity.step_count();
  const auto updates = std::ranges::count_if(
      activity.of(WorkKind::kOptimizer),
      [&](SliceId update) { return !activity.around(update, WorkKind::kOptimizer); });
  return updates > 0 ? std::optional<int64_t>(updates) : std::nullopt;
}

std::string how_often(const Activity& activity, size_t count, const char* what) {
  const auto steps = static_cast<size_t>(activity.step_count());
  if (count < steps) return fmt::format("{} in {} steps", format_plural(count, what), steps);
  return fmt::format("{}{}", format_plural(count / steps, what), activity.a_step());
}

bool is_compiled(const Activity& activity) {
  return std::ranges::any_of(activity.analysis().operators, [](const OperatorRow& row) {
    return row.name.starts_with("Torch-Compiled Region") || row.name == "CompiledFunction";
  });
}

bool recomputes(const Activity& activity) {
  return std::ranges::any_of(activity.analysis().shapes.calls, &ShapeCall::is_recomputed);
}

// Autocast shows in kernels of 16 bits, in casts in the backward graph, or in a gradient scaler.
bool uses_autocast(const Activity& activity) {
  if (!activity.of(WorkKind::kHalfKernel).empty()) return true;
  return std::ranges::any_of(activity.analysis().operators, [](const OperatorRow& row) {
    return row.name.starts_with("ToCopyBackward") || row.name.find("_amp_") != std::string::npos;
  });
}

std::vector<EvidenceEvent> longest(const Trace& trace, std::span<const SliceId> slices) {
  std::vector<SliceId> top(std::min(kMostEvents, slices.size()));
  std::partial_sort_copy(
      slices.begin(), slices.end(), top.begin(), top.end(), [&](SliceId left, SliceId right) {
        const int64_t l = duration_ns(trace, left), r = duration_ns(trace, right);
        return l != r ? l > r : left < right;
      });
  std::vector<EvidenceEvent> events;
  for (const SliceId slice : top) events.push_back(event_of(trace, slice));
  return events;
}

std::vector<EvidenceEvent> longest_idle_gaps(const Activity& activity) {
  Intervals gaps = subtract(activity.steps(), activity.device_time());
  const size_t count = std::min(kMostEvents, gaps.size());
  std::partial_sort(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(count), gaps.end(),
                    [](const Interval& left, const Interval& right) {
                      return left.length_ns() != right.length_ns()
                                 ? left.length_ns() > right.length_ns()
                                 : left.begin_ns < right.begin_ns;
                    });
  std::vector<EvidenceEvent> events;
  for (size_t i = 0; i < count; ++i) {
    events.push_back({SliceId::none(), gaps[i].begin_ns, gaps[i].end_ns, "GPU idle"});
  }
  return events;
}

std::string workers_knob(const Activity& activity) {
  const int64_t cores = activity.recorded().usable_cores().value_or(kFewWorkers);
  return fmt::format("num_workers=0..{}", std::clamp<int64_t>(cores, 1, kManyWorkers));
}

const DeviceProperties* properties_of(const Analysis& analysis, int32_t device) {
  return properties_of(analysis.devices, device, analysis.facts.is_amd);
}

}  // namespace redline::trace
