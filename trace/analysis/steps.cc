#include "trace/analysis/steps.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/statistics.h"
#include "trace/analysis/host_tree.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr double kWholeStepShare = 0.8;

// The GPU work that was launched within one step.
struct LaunchedInStep {
  int64_t count = 0;
  int64_t begin_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;
};

std::optional<int64_t> number_of(std::string_view name) {
  const std::string_view digits = name.substr(name.find('#') + 1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// Its own rows span the whole recording, whatever the program did.
bool is_of_the_profiler(Category category) {
  return category == Category::kSpan || category == Category::kOverhead;
}

std::vector<Step> one_pseudo_step(const Trace& trace, const DeviceWorkTable& device) {
  Interval all{INT64_MAX, INT64_MIN};
  const auto extend = [&](SliceId slice) {
    const Interval interval = interval_of(trace, slice);
    all.begin_ns = std::min(all.begin_ns, interval.begin_ns);
    all.end_ns = std::max(all.end_ns, interval.end_ns);
  };
  const auto& categories = trace.slices().category;
  const bool has_operators = std::ranges::find(categories, Category::kCpuOp) != categories.end();
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (has_operators ? is_host_node(category) : !is_of_the_profiler(category)) extend(slice);
  });
  // Of runtime calls only launches count: the last one may be the profiler's own wait for the GPU.
  for (const DeviceWork& row : device.rows) {
    if (row.launch) extend(row.launch);
  }
  if (all.end_ns < all.begin_ns) return {};
  return {{std::nullopt, all, all}};
}

const Step* last_begun(const std::vector<Step>& steps, Interval Step::*part, int64_t time_ns) {
  const auto after = std::ranges::partition_point(
      steps, [&](const Step& step) { return (step.*part).begin_ns <= time_ns; });
  return after == steps.begin() ? nullptr : &*std::prev(after);
}

// Finds the steps of launches; fast if these come mostly in order of time.
class StepFinder {
 public:
  explicit StepFinder(const std::vector<Step>& steps) : steps_(steps) {}

  // The step in whose annotation the whole launch lies; steps.size() if none.
  size_t step_of(Interval launch) {
    if (!is_last_begun(launch.begin_ns)) {
      const Step* step = last_begun(steps_, &Step::host, launch.begin_ns);
      if (!step) return steps_.size();
      at_ = static_cast<size_t>(step - steps_.data());
    }
    return launch.end_ns <= steps_[at_].host.end_ns ? at_ : steps_.size();
  }

 private:
  [[nodiscard]] bool is_last_begun(int64_t time_ns) const {
    return steps_[at_].host.begin_ns <= time_ns &&
           (at_ + 1 == steps_.size() || steps_[at_ + 1].host.begin_ns > time_ns);
  }

  const std::vector<Step>& steps_;
  size_t at_ = 0;
};

struct LaunchedWork {
  std::vector<LaunchedInStep> of_step;
  std::vector<int64_t> other_ends_ns;  // ends of work that no step launched
};

LaunchedWork find_launched_work(const Trace& trace, const std::vector<Step>& steps,
                                const DeviceWorkTable& device) {
  LaunchedWork work;
  work.of_step.resize(steps.size());
  StepFinder finder(steps);
  for (const DeviceWork& row : device.rows) {
    const size_t index = row.launch ? finder.step_of(interval_of(trace, row.launch)) : steps.size();
    if (index == steps.size()) {
      work.other_ends_ns.push_back(row.interval.end_ns);
      continue;
    }
    LaunchedInStep& launched = work.of_step[index];
    ++launched.count;
    launched.begin_ns = std::min(launched.begin_ns, row.interval.begin_ns);
    launched.end_ns = std::max(launched.end_ns, row.interval.end_ns);
  }
  return work;
}

void widen_to_device(std::vector<Step>& steps, const LaunchedWork& work) {
  int64_t previous_end_ns = steps.front().host.begin_ns;
  for (const int64_t end_ns : work.other_ends_ns) {
    if (work.of_step.front().count > 0 && end_ns < work.of_step.front().begin_ns) {
      previous_end_ns = std::max(previous_end_ns, end_ns);
    }
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    Interval& window = steps[i].window;
    window.begin_ns = std::max(previous_end_ns, steps[i].host.begin_ns);
    window.end_ns = std::max({steps[i].host.end_ns, work.of_step[i].end_ns, window.begin_ns});
    previous_end_ns = window.end_ns;
  }
}

void drop_cut_off_steps(std::vector<Step>& steps, const std::vector<LaunchedInStep>& work) {
  size_t keep = steps.size();
  while (keep > 0 && work[keep - 1].count == 0) --keep;
  if (keep == 0) return;
  if (keep > 1 && static_cast<double>(work[keep - 2].count) * kWholeStepShare >
                      static_cast<double>(work[keep - 1].count)) {
    --keep;
  }
  steps.resize(keep);
}

bool has_operators(const Trace& trace, Interval step) {
  bool has = false;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (has || category != Category::kCpuOp) return;
    const int64_t begin_ns = trace.slices().begin_ns[slice.value];
    has = step.begin_ns <= begin_ns && begin_ns < step.end_ns;
  });
  return has;
}

// A loop that ends within the recording leaves the mark of one more step. A number of operators
// tells nothing else: it differs between steps far more than that of launches on a GPU, as where
// the first one starts up.
void drop_empty_step(const Trace& trace, std::vector<Step>& steps) {
  if (steps.size() < 2 || has_operators(trace, steps.back().host)) return;
  if (has_operators(trace, steps[steps.size() - 2].host)) steps.pop_back();
}

}  // namespace

const Step* step_at(const std::vector<Step>& steps, Interval Step::*part, int64_t time_ns) {
  const Step* step = last_begun(steps, part, time_ns);
  return step && time_ns < (step->*part).end_ns ? step : nullptr;
}

BreakdownPart part_of(const DeviceWork& work) {
  if (work.is_communication) return BreakdownPart::kCommunication;
  if (work.is_kernel()) return BreakdownPart::kKernel;
  return work.category == Category::kMemcpy ? BreakdownPart::kMemcpy : BreakdownPart::kMemset;
}

std::vector<Step> annotated_steps(const Trace& trace) {
  std::vector<Step> marked;
  const Track* marking = nullptr;  // the first thread that marks steps
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (category != Category::kUserAnnotation) return;
    const std::string_view name = name_of(trace, slice);
    if (!is_step_name(name)) return;
    if (marking == nullptr) marking = &track_of(trace, slice);
    if (marking != &track_of(trace, slice)) return;
    const Interval host = interval_of(trace, slice);
    marked.push_back({number_of(name), host, host, slice});
  });
  std::ranges::sort(marked, {}, [](const Step& step) {
    return std::pair(step.host.begin_ns, -step.host.end_ns);  // the outer one before the inner one
  });
  std::vector<Step> steps;
  for (const Step& step : marked) {
    const bool is_within = !steps.empty() && step.host.end_ns <= steps.back().host.end_ns;
    if (!is_within) steps.push_back(step);
  }
  return steps;
}

std::vector<Step> find_steps(const Trace& trace, const DeviceWorkTable& device) {
  std::vector<Step> steps = annotated_steps(trace);
  if (steps.empty()) steps = one_pseudo_step(trace, device);
  if (steps.empty()) return steps;
  const LaunchedWork work = find_launched_work(trace, steps, device);
  const bool any_launched =
      std::ranges::any_of(work.of_step, [](const LaunchedInStep& step) { return step.count > 0; });
  if (!any_launched) {
    drop_empty_step(trace, steps);
    return steps;
  }
  widen_to_device(steps, work);
  if (steps.size() > 1) drop_cut_off_steps(steps, work.of_step);
  return steps;
}

Intervals windows_of(const std::vector<Step>& steps) {
  std::vector<Interval> windows;
  windows.reserve(steps.size());
  for (const Step& step : steps) windows.push_back(step.window);
  return merge(std::move(windows));
}

StepTimes step_times(const std::vector<Step>& steps) {
  StepTimes times;
  times.count = static_cast<int64_t>(steps.size());
  if (steps.empty()) return times;
  int64_t sum_ns = 0;
  std::vector<int64_t> lengths_ns;
  for (const Step& step : steps) {
    lengths_ns.push_back(step.window.length_ns());
    sum_ns += lengths_ns.back();
  }
  times.mean_ns = sum_ns / times.count;
  const Distribution lengths = distribution_of(lengths_ns);
  times.deviation_ns = std::llround(lengths.deviation);
  times.min_ns = std::llround(lengths.min);
  times.median_ns = std::llround(lengths.p50);
  times.max_ns = std::llround(lengths.max);
  return times;
}

}  // namespace redline::trace
