#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/format.h"
#include "trace/advice/advice_rules.h"
#include "trace/model/category.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr double kStartupShare = 0.25;

// A job's start creates the context, loads modules and fills the allocator's cache. Any call that
// takes half a second while no device works does one of these, whatever its name; beside device
// work it may only wait for that.
constexpr int64_t kFirstUseNs = 500'000'000;

bool sets_up(const Activity& activity, SliceId call) {
  if (duration_ns(activity.trace(), call) < kFirstUseNs) return false;
  const Interval interval = interval_of(activity.trace(), call);
  return interval.length_ns() - total_within_ns(activity.device_time(), interval) >= kFirstUseNs;
}

// XLA's ranges, and those of torch.compile.
bool is_compilation(Category category, std::string_view name) {
  return (category == Category::kUserAnnotation || category == Category::kCpuOp) &&
         (name.starts_with("XlaCompile:") || name.ends_with(" (dynamo_timed)"));
}

}  // namespace

// A trace without steps that spends a good part of its time in calls of half a second, or in a
// compiler, shows the start of a program. The other rules must not take it for training.
std::optional<Finding> startup_recorded(const Activity& activity) {
  const Trace& trace = activity.trace();
  if (activity.analysis().steps.front().number) return std::nullopt;
  std::vector<SliceId> calls, compilations;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (is_launch(category) && sets_up(activity, slice)) {
      calls.push_back(slice);
    } else if (is_compilation(category, name_of(trace, slice))) {
      compilations.push_back(slice);
    }
  });
  const int64_t compiling_ns = total_ns(activity.time_of(compilations));
  const int64_t calls_ns = total_ns(subtract(activity.time_of(calls), activity.device_time()));
  const bool compiles = compiling_ns > calls_ns;
  const int64_t time_ns = std::max(compiling_ns, calls_ns);
  const StepShare part(activity, time_ns);
  if (part.share < kStartupShare) return std::nullopt;
  Finding finding;
  finding.rule = "startup_recorded";
  finding.headline = fmt::format("A start-up, not training: {} in {}", format_ns(time_ns),
                                 compiles ? "a compiler" : "CUDA set-up");
  finding.detail = fmt::format(
      "{} of the trace is {}, and no steps are marked: {}", format_percent(part.share),
      compiles
          ? "compilation"
          : fmt::format("in {} of half a second and more", format_plural(calls.size(), "call")),
      activity.lacks_pytorch() ? "a longer run has more of what comes after it"
                               : "record later steps (--schedule wait=1,warmup=1,active=3)");
  finding.tell("setup_ns", time_ns);
  finding.tell("trace_share", part.share);
  finding.events = longest(trace, compiles ? compilations : calls);
  return finding;
}

// The first step of a job loads kernels, fills caches and starts workers, but only once. If it
// takes a good part of what was recorded, no rule should promise to cure it.
std::optional<Finding> first_step_recorded(const Activity& activity) {
  const auto& steps = activity.analysis().steps;
  if (steps.size() < 2 || steps.front().number != 0) return std::nullopt;
  const int64_t first_ns = steps.front().window.length_ns(),
                usual_ns = step_times({steps.begin() + 1, steps.end()}).median_ns,
                extra_ns = first_ns - usual_ns;
  const StepShare part(activity, extra_ns);
  if (part.share < kStartupShare) return std::nullopt;
  Finding finding;
  finding.rule = "startup_recorded";
  finding.headline =
      fmt::format("Step 0 starts up: {}, later steps {}", format_ns(first_ns), format_ns(usual_ns));
  finding.detail = fmt::format(
      "{} of the recorded time passes once in a job, so no other advice is given: record later "
      "steps (--schedule wait=1,warmup=1,active=3)",
      format_percent(part.share));
  finding.tell("setup_ns", extra_ns);
  finding.tell("trace_share", part.share);
  finding.events = {{SliceId::none(), steps.front().window.begin_ns, steps.front().window.end_ns,
                     "ProfilerStep#0"}};
  return finding;
}

}  // namespace redline::trace
