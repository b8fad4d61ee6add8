#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.h"
#include "base/text_search.h"
#include "trace/advice/advice_rules.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr double kOptimizerShare = 0.02;
constexpr int64_t kManyOperators = 50;  // a step

struct Cure {
  std::string what;
  std::string knob = "";
};

// How to make an optimizer of torch.optim update all tensors at once; nullopt if it cannot. On a
// CPU foreach is no faster, because it only saves kernel launches.
std::optional<Cure> cure_of(std::string_view annotation, bool on_gpu, bool has_products) {
  const std::string_view of_class = annotation.substr(std::string_view("Optimizer.step#").size());
  const std::string_view name = of_class.substr(0, of_class.find('.'));
  constexpr auto kFused = std::to_array<std::string_view>({"Adam", "AdamW", "SGD", "Adagrad"});
  constexpr auto kForeach = std::to_array<std::string_view>(
      {"Adadelta", "Adafactor", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"});
  constexpr auto kNeither = std::to_array<std::string_view>({"LBFGS", "Muon", "SparseAdam"});
  if (is_any(name, kFused)) {
    if (!on_gpu) return Cure{"give the optimizer fused=True", "optimizer=default,fused"};
    return Cure{"give the optimizer fused=True, or foreach=True",
                "optimizer=default,foreach,fused"};
  }
  if (!on_gpu || is_any(name, kNeither)) return std::nullopt;
  // Only torch.optim's multiplies the means of rows by those of columns as matrices.
  if (name == "Adafactor" && !has_products) {
    return Cure{"torch.optim.Adafactor takes foreach=True, transformers' and timm's do not"};
  }
  if (is_any(name, kForeach)) {
    return Cure{"give the optimizer foreach=True", "optimizer=default,foreach"};
  }
  return Cure{
      fmt::format("torch._foreach_add_ and its like in {} update all tensors in one call", name)};
}

struct OptimizerCalls {
  int64_t operators = 0;  // without products
  bool many_tensors_at_once = false;
  std::vector<SliceId> products;  // Muon, Shampoo: of one tensor each, whoever calls them
};

OptimizerCalls calls_of(const Activity& activity) {
  const Trace& trace = activity.trace();
  const auto& parents = activity.analysis().host_tree.parent;
  const auto& kinds = activity.analysis().host_tree.kinds_around;
  OptimizerCalls calls;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (category != Category::kCpuOp || !parents[slice.value]) return;
    if ((kinds[slice.value] & kOptimizerName) == 0) return;  // it is in a closure
    if ((kinds[slice.value] & kMatrixOpName) != 0) {
      calls.products.push_back(slice);
      return;
    }
    if (work_kind_of(Category::kUserAnnotation, name_of(trace, parents[slice.value])) !=
        WorkKind::kOptimizer) {
      return;
    }
    if (!begins_in_steps(activity, slice)) return;
    ++calls.operators;
    const auto name = name_of(trace, slice);
    if (contains_any(name, {"_foreach_", "_fused_"})) calls.many_tensors_at_once = true;
  });
  return calls;
}

// The GPU work that the optimizer launched, and all other GPU work.
std::pair<std::vector<SliceId>, std::vector<SliceId>> device_work(const Activity& activity,
                                                                  const Intervals& optimizer) {
  std::vector<SliceId> own, others;
  for_each_slice(activity.trace(), [&](SliceId slice, Category category) {
    if (!is_device_work(category)) return;
    const SliceId call = activity.launcher(slice);
    const bool is_own = call && total_within_ns(optimizer, interval_of(activity.trace(), call)) > 0;
    (is_own ? own : others).push_back(slice);
  });
  return {std::move(own), std::move(others)};
}

}  // namespace

std::optional<Finding> optimizer_per_parameter(const Activity& activity) {
  const auto annotations = activity.of(WorkKind::kOptimizer);
  Intervals host = subtract(activity.time_of(annotations), activity.analysis().host_tree.closures);
  if (StepShare(activity, total_ns(host)).share < kOptimizerShare) return std::nullopt;
  const OptimizerCalls calls = calls_of(activity);
  host = subtract(host, activity.time_of(calls.products));
  const int64_t steps = training_steps(activity).value_or(activity.step_count());
  if (calls.operators / steps < kManyOperators || calls.many_tensors_at_once) return std::nullopt;
  const auto cure = cure_of(name_of(activity.trace(), annotations.front()),
                            !activity.analysis().gpus.empty(), !calls.products.empty());
  if (!cure) return std::nullopt;
  const auto [own, others] = device_work(activity, host);
  const int64_t exposed_ns = activity.without_stalls_ns(
      subtract(unite(host, activity.time_of(own)), activity.time_of(others)));
  const StepShare part(activity, exposed_ns);
  if (part.share <= kOptimizerShare) return std::nullopt;
  const int64_t operators = calls.operators / activity.step_count();
  Finding finding = finding_on("optimizer_per_parameter", activity, exposed_ns);
  finding.headline = fmt::format("Optimizer: {}{}, one tensor at a time",
                                 format_ns(part.per_step_ns), activity.a_step());
  finding.detail = fmt::format("{} operators{}, {} of it: {}", format_count(operators),
                               activity.a_step(), format_percent(part.share), cure->what);
  finding.tell("operators", operators);
  finding.events = longest(activity.trace(), annotations);
  finding.knob = cure->knob;
  return finding;
}

}  // namespace redline::trace
