#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "trace/advice_rules.h"
#include "trace/category.h"
#include "trace/format.h"
#include "trace/slice_view.h"

namespace redline::trace {
namespace {

// Shares of the step from which a finding is worth a line; the first two are the TensorBoard
// plugin's.
constexpr double kDataLoaderShare = 0.05;
constexpr double kCommunicationShare = 0.10;
constexpr double kTinyOperatorShare = 0.10;
constexpr double kMatrixShare = 0.20;
constexpr double kOptimizerShare = 0.05;

constexpr int64_t kTinyOperatorNs = 20'000;
constexpr int64_t kManyTinyOperators = 200;      // a step
constexpr int64_t kManyOptimizerOperators = 50;  // a step

double share(int64_t part_ns, int64_t whole_ns) {
  return static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

struct Work {
  int64_t count = 0;
  Intervals time;
};

// The slices that `wanted` picks, inside the steps.
template <typename Wanted>
Work gather(const Analysis& analysis, Wanted wanted) {
  const Trace& trace = *analysis.trace;
  std::vector<Interval> windows;
  windows.reserve(analysis.steps.size());
  for (const Step& step : analysis.steps) windows.push_back(step.window);
  const Intervals steps = merge(std::move(windows));
  Work work;
  std::vector<Interval> intervals;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!is_host_node(category) || !wanted(slice)) return;
    const Interval interval = interval_of(trace, slice);
    if (total_within_ns(steps, interval) == 0) return;
    intervals.push_back(interval);
    ++work.count;
  });
  work.time = intersect(merge(std::move(intervals)), steps);
  return work;
}

bool is_inside(const Analysis& analysis, SliceId slice, bool (*outer)(std::string_view)) {
  for (SliceId at = analysis.host_tree.parent[slice.value]; at;
       at = analysis.host_tree.parent[at.value]) {
    if (outer(name_of(*analysis.trace, at))) return true;
  }
  return false;
}

bool is_optimizer_step(std::string_view name) { return starts_with(name, "Optimizer.step#"); }

}  // namespace

bool is_matrix_operator(std::string_view name) {
  constexpr std::array<std::string_view, 16> kNames = {"aten::conv1d",
                                                       "aten::conv2d",
                                                       "aten::conv3d",
                                                       "aten::convolution",
                                                       "aten::_convolution",
                                                       "aten::cudnn_convolution",
                                                       "aten::mkldnn_convolution",
                                                       "aten::convolution_backward",
                                                       "aten::cudnn_convolution_backward",
                                                       "aten::addmm",
                                                       "aten::mm",
                                                       "aten::bmm",
                                                       "aten::baddbmm",
                                                       "aten::matmul",
                                                       "aten::linear",
                                                       "aten::mkldnn_convolution_backward"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool uses_autocast(const Analysis& analysis) {
  return std::any_of(analysis.operators.begin(), analysis.operators.end(),
                     [](const OperatorRow& row) {
                       return starts_with(row.name, "ToCopyBackward") ||
                              row.name.find("_amp_") != std::string::npos;
                     });
}

std::optional<Finding> dataloader_wait(const Analysis& analysis) {
  const int64_t step_ns = analysis.step_times.mean_ns;
  const int64_t wait_ns = analysis.breakdown.of(StepPart::kDataLoader);
  const double wait_share = share(wait_ns, step_ns);
  if (wait_share <= kDataLoaderShare) return std::nullopt;
  const Work single = gather(analysis, [&](SliceId slice) {
    const auto name = name_of(*analysis.trace, slice);
    return is_dataloader_wait(name) && name.find("SingleProcess") != std::string_view::npos;
  });
  Finding finding;
  finding.rule = "dataloader_wait";
  finding.estimated_speedup = speedup_without(wait_ns, step_ns);
  finding.headline = fmt::format("DataLoader: training waits {} a step", format_ns(wait_ns));
  finding.detail =
      single.count > 0
          ? fmt::format("num_workers is 0: batches are made between the steps, {} of the step",
                        format_percent(wait_share))
          : fmt::format("the workers do not keep up, {} of the step", format_percent(wait_share));
  finding.evidence = {{"wait_ns", static_cast<double>(wait_ns)}, {"step_share", wait_share}};
  finding.knob = "num_workers=0..16";
  return finding;
}

std::optional<Finding> communication(const Analysis& analysis) {
  const int64_t step_ns = analysis.step_times.mean_ns;
  const int64_t time_ns = analysis.breakdown.of(StepPart::kCommunication);
  const double time_share = share(time_ns, step_ns);
  if (time_share <= kCommunicationShare || analysis.collectives.empty()) return std::nullopt;
  const int64_t exposed_ns = mean_exposed_communication_ns(*analysis.trace, analysis.steps);
  Finding finding;
  finding.rule = "communication";
  // What overlaps with computation costs no time of its own: only the exposed part can be won.
  finding.estimated_speedup = speedup_without(exposed_ns, step_ns);
  finding.headline = fmt::format("Communication: {} a step, {} of it", format_ns(time_ns),
                                 format_percent(time_share));
  finding.detail = fmt::format("{} with no computation beside it; a larger batch makes it rarer",
                               format_ns(exposed_ns));
  finding.evidence = {{"communication_ns", static_cast<double>(time_ns)},
                      {"exposed_ns", static_cast<double>(exposed_ns)},
                      {"step_share", time_share}};
  finding.knob = "batch_size=1..4096";
  return finding;
}

std::optional<Finding> tiny_operators(const Analysis& analysis) {
  const Work tiny = gather(analysis, [&](SliceId slice) {
    return !analysis.host_tree.has_child[slice.value] &&
           analysis.trace->slices().category[slice.value] == Category::kCpuOp &&
           duration_ns(*analysis.trace, slice) < kTinyOperatorNs &&
           !is_inside(analysis, slice, is_dataloader_wait);
  });
  const auto steps = static_cast<int64_t>(analysis.steps.size());
  const int64_t count = tiny.count / steps, time_ns = total_ns(tiny.time) / steps;
  const double time_share = share(time_ns, analysis.step_times.mean_ns);
  if (count < kManyTinyOperators || time_share <= kTinyOperatorShare) return std::nullopt;
  Finding finding;
  finding.rule = "tiny_operators";
  finding.estimated_speedup = speedup_without(time_ns, analysis.step_times.mean_ns);
  finding.headline = fmt::format("Small work: {} operators under {} a step", format_count(count),
                                 format_ns(kTinyOperatorNs));
  finding.detail = fmt::format("{} of the step goes into calls; a larger batch needs fewer of them",
                               format_percent(time_share));
  finding.evidence = {{"operators", static_cast<double>(count)},
                      {"time_ns", static_cast<double>(time_ns)},
                      {"step_share", time_share}};
  finding.knob = "batch_size=1..4096";
  return finding;
}

std::optional<Finding> float32_on_cpu(const Analysis& analysis) {
  if (!analysis.gpus.empty() || uses_autocast(analysis)) return std::nullopt;
  const Work matrix = gather(
      analysis, [&](SliceId slice) { return is_matrix_operator(name_of(*analysis.trace, slice)); });
  const auto steps = static_cast<int64_t>(analysis.steps.size());
  const int64_t time_ns = total_ns(matrix.time) / steps;
  const double time_share = share(time_ns, analysis.step_times.mean_ns);
  if (time_share <= kMatrixShare) return std::nullopt;
  Finding finding;
  finding.rule = "float32_matrix_work";
  finding.estimated_speedup = speedup_without(time_ns, analysis.step_times.mean_ns);
  finding.headline = fmt::format("No autocast: {} a step in matrix work", format_ns(time_ns));
  finding.detail =
      fmt::format("convolutions and products, {} of it; bf16 helps where the CPU has it",
                  format_percent(time_share));
  finding.evidence = {{"matrix_ns", static_cast<double>(time_ns)}, {"step_share", time_share}};
  finding.knob = "amp=off,bf16";
  return finding;
}

std::optional<Finding> optimizer_per_parameter(const Analysis& analysis) {
  const Trace& trace = *analysis.trace;
  const Work whole =
      gather(analysis, [&](SliceId slice) { return is_optimizer_step(name_of(trace, slice)); });
  int64_t foreach_calls = 0;
  const Work calls = gather(analysis, [&](SliceId slice) {
    const SliceId parent = analysis.host_tree.parent[slice.value];
    if (!parent || !is_optimizer_step(name_of(trace, parent))) return false;
    const auto name = name_of(trace, slice);
    if (name.find("_foreach_") != std::string_view::npos ||
        name.find("_fused_") != std::string_view::npos) {
      ++foreach_calls;
    }
    return true;
  });
  const auto steps = static_cast<int64_t>(analysis.steps.size());
  const int64_t time_ns = total_ns(whole.time) / steps, count = calls.count / steps;
  const double time_share = share(time_ns, analysis.step_times.mean_ns);
  if (time_share <= kOptimizerShare || count < kManyOptimizerOperators || foreach_calls > 0) {
    return std::nullopt;
  }
  Finding finding;
  finding.rule = "optimizer_per_parameter";
  finding.estimated_speedup = speedup_without(time_ns, analysis.step_times.mean_ns);
  finding.headline = fmt::format("Optimizer: {} a step, one tensor at a time", format_ns(time_ns));
  finding.detail = fmt::format("{} operators a step, {} of it: give the optimizer fused=True",
                               format_count(count), format_percent(time_share));
  finding.evidence = {{"optimizer_ns", static_cast<double>(time_ns)},
                      {"operators", static_cast<double>(count)},
                      {"step_share", time_share}};
  return finding;
}

}  // namespace redline::trace
