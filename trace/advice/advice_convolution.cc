#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/format.h"
#include "trace/advice/advice_rules.h"
#include "trace/model/slice_view.h"
#include "trace/read/args.h"

namespace redline::trace {
namespace {

constexpr double kTransposeShare = 0.01;
constexpr double kConvolutionShare = 0.02;
constexpr std::array kComputing = {WorkKind::kFloat32Kernel, WorkKind::kTf32Kernel,
                                   WorkKind::kHalfKernel, WorkKind::kTransposeKernel,
                                   WorkKind::kOtherKernel};

// Adds the kernels that copy into a contiguous tensor because a convolution asked for one.
void add_contiguous_copies(const Activity& activity, std::vector<SliceId>& kernels) {
  if (activity.of(WorkKind::kContiguous).empty() || activity.of(WorkKind::kConvolution).empty())
    return;
  for (const SliceId kernel : activity.of(WorkKind::kOtherKernel)) {
    const SliceId contiguous = activity.around(activity.launcher(kernel), WorkKind::kContiguous);
    if (contiguous && activity.around(contiguous, WorkKind::kConvolution))
      kernels.push_back(kernel);
  }
}

// The time in which only kernels run that convolutions launched, forward or backward.
int64_t exposed_ns_of_convolutions(const Activity& activity) {
  std::vector<SliceId> kernels;
  for (const WorkKind kind : kComputing) {
    for (const SliceId kernel : activity.of(kind)) {
      if (activity.around(activity.launcher(kernel), WorkKind::kConvolution)) {
        kernels.push_back(kernel);
      }
    }
  }
  return activity.alone_ns(activity.time_of(kernels), kComputing);
}

// The index of the argument "benchmark" of a convolution operator.
std::optional<size_t> benchmark_argument(std::string_view name) {
  if (name == "aten::cudnn_convolution") return 6;
  if (name == "aten::_convolution") return 9;
  return std::nullopt;
}

// Whether the convolution ran with benchmark; nullopt if the trace does not tell.
std::optional<bool> benchmark_flag(const Trace& trace, SliceId convolution) {
  const auto index = benchmark_argument(name_of(trace, convolution));
  if (!index) return std::nullopt;
  const auto inputs =
      nlohmann::json::parse(Args(trace, convolution).raw("Concrete Inputs"), nullptr, false);
  if (!inputs.is_array() || inputs.size() <= *index || !inputs[*index].is_string()) {
    return std::nullopt;
  }
  const auto& text = inputs[*index].get_ref<const std::string&>();
  if (text == "True") return true;
  return text == "False" ? std::optional(false) : std::nullopt;
}

// The shapes that each step convolves.
std::vector<std::multiset<std::string>> shapes_by_step(const Activity& activity,
                                                       std::span<const SliceId> convolutions) {
  const auto& steps = activity.analysis().steps;
  std::vector<std::multiset<std::string>> shapes(steps.size());
  for (const SliceId slice : convolutions) {
    const int64_t begin_ns = interval_of(activity.trace(), slice).begin_ns;
    const auto after = std::ranges::partition_point(
        steps, [&](const Step& step) { return step.host.begin_ns <= begin_ns; });
    if (after == steps.begin() || begin_ns >= std::prev(after)->host.end_ns) continue;
    shapes[static_cast<size_t>(after - steps.begin()) - 1].emplace(
        Args(activity.trace(), slice).raw("Input Dims"));
  }
  return shapes;
}

struct LayoutCure {
  const char* what = "a channels_last model needs none";
  const char* knob = "channels_last=off,on";
};

// channels_last is a format of images alone: Module.to() passes weights of convolutions over lines
// by, and fails at those over volumes. Of compiled code the trace does not tell.
LayoutCure cure_of_layouts(const Trace& trace) {
  const auto convolves = [&](const char* forward, const char* transposed) {
    return trace.find_string(forward) || trace.find_string(transposed);
  };
  if (convolves("aten::conv2d", "aten::conv_transpose2d")) return {};
  if (convolves("aten::conv3d", "aten::conv_transpose3d")) {
    return {"a model and inputs in memory_format=torch.channels_last_3d need none", ""};
  }
  if (convolves("aten::conv1d", "aten::conv_transpose1d")) {
    return {"Conv1d has no other layout, but Conv2d of height 1 in channels_last needs none", ""};
  }
  return {};
}

}  // namespace

std::optional<Finding> layout_transposes(const Activity& activity) {
  const auto transposes = activity.of(WorkKind::kTransposeKernel);
  std::vector<SliceId> kernels(transposes.begin(), transposes.end());
  add_contiguous_copies(activity, kernels);
  constexpr std::array kOwn = {WorkKind::kTransposeKernel, WorkKind::kOtherKernel};
  const int64_t exposed_ns = activity.alone_ns(activity.time_of(kernels), kOwn);
  const StepShare part(activity, exposed_ns);
  if (part.share < kTransposeShare) return std::nullopt;
  Finding finding = finding_on("layout_transposes", activity, exposed_ns);
  finding.headline =
      fmt::format("Layout changes around convolutions: {}", format_ns(part.per_step_ns));
  const LayoutCure cure = cure_of_layouts(activity.trace());
  finding.detail = fmt::format("{} to turn NCHW into NHWC and back: {}",
                               how_often(activity, kernels.size(), "kernel"), cure.what);
  finding.tell("kernels", kernels.size());
  finding.events = longest(activity.trace(), kernels);
  finding.knob = cure.knob;
  return finding;
}

// Found only if the trace says that the flag is off and that no shape changes, because cuDNN
// measures anew for each new shape. How much faster its best choice is, only a trial shows.
std::optional<Finding> cudnn_benchmark_off(const Activity& activity) {
  std::vector<SliceId> convolutions;
  for (const SliceId slice : activity.of(WorkKind::kConvolution)) {
    const std::string_view name = name_of(activity.trace(), slice);
    if (name != (convolutions.empty() ? name : name_of(activity.trace(), convolutions.front()))) {
      continue;
    }
    if (!benchmark_argument(name)) continue;
    if (benchmark_flag(activity.trace(), slice).value_or(true)) return std::nullopt;
    convolutions.push_back(slice);
  }
  if (convolutions.empty() || activity.analysis().gpus.empty()) return std::nullopt;
  const auto shapes = shapes_by_step(activity, convolutions);
  if (shapes.size() < 2 || shapes.front().contains(std::string())) return std::nullopt;
  for (const auto& of_step : shapes) {
    if (of_step != shapes.front()) return std::nullopt;
  }
  const StepShare part(activity, exposed_ns_of_convolutions(activity));
  if (part.share < kConvolutionShare) return std::nullopt;
  Finding finding;
  finding.rule = "cudnn_benchmark_off";
  finding.headline = "cuDNN chooses convolutions without measuring";
  finding.detail = fmt::format(
      "{} of {} in convolutions, {} with the same shapes in each of {} steps: "
      "torch.backends.cudnn.benchmark=True measures once",
      format_percent(part.share), activity.the_step(),
      format_plural(shapes.front().size(), "forward call"), shapes.size());
  finding.tell("convolutions", shapes.front().size());
  finding.tell("steps", shapes.size());
  finding.tell("step_share", part.share);
  finding.events = longest(activity.trace(), convolutions);
  finding.knob = "cudnn_benchmark=off,on";
  return finding;
}

}  // namespace redline::trace
