#include "trace/model/category.h"

#include <array>
#include <utility>

#include "trace/emit/name_kinds.h"

namespace redline::trace {
namespace {

constexpr std::array<std::pair<std::string_view, Category>, 22> kCategories{{
    {"cpu_op", Category::kCpuOp},
    {"cuda_runtime", Category::kRuntime},
    {"kernel", Category::kKernel},
    {"python_function", Category::kPythonFunction},
    {"user_annotation", Category::kUserAnnotation},
    {"gpu_user_annotation", Category::kGpuUserAnnotation},
    {"gpu_memcpy", Category::kMemcpy},
    {"gpu_memset", Category::kMemset},
    {"cuda_driver", Category::kDriver},
    {"cuda_sync", Category::kSync},
    {"overhead", Category::kOverhead},
    {"Trace", Category::kSpan},
    {"Operator", Category::kCpuOp},
    {"Runtime", Category::kRuntime},
    {"Kernel", Category::kKernel},
    {"Memcpy", Category::kMemcpy},
    {"Memset", Category::kMemset},
    {"hip_runtime", Category::kRuntime},
    {"xpu_runtime", Category::kRuntime},
    {"xpu_driver", Category::kDriver},
    {"privateuse1_runtime", Category::kRuntime},
    {"privateuse1_driver", Category::kDriver},
}};

}  // namespace

bool is_annotation_name(std::string_view name) {
  return (name_kinds(name) & (kStepName | kDataLoaderName | kOptimizerName)) != 0;
}

Category category_of(std::string_view cat) {
  for (const auto& [text, category] : kCategories) {
    if (text == cat) return category;
  }
  return Category::kOther;
}

std::string_view category_name(Category category) {
  switch (category) {
    case Category::kCpuOp:
      return "cpu_op";
    case Category::kUserAnnotation:
      return "user_annotation";
    case Category::kGpuUserAnnotation:
      return "gpu_user_annotation";
    case Category::kPythonFunction:
      return "python_function";
    case Category::kRuntime:
      return "cuda_runtime";
    case Category::kDriver:
      return "cuda_driver";
    case Category::kKernel:
      return "kernel";
    case Category::kMemcpy:
      return "gpu_memcpy";
    case Category::kMemset:
      return "gpu_memset";
    case Category::kSync:
      return "cuda_sync";
    case Category::kOverhead:
      return "overhead";
    case Category::kSpan:
      return "Trace";
    case Category::kOther:
      break;
  }
  return "other";
}

FlowKind flow_kind_of(std::string_view cat) {
  if (cat == "fwdbwd" || cat == "forward_backward") return FlowKind::kForwardBackward;
  if (cat == "ac2g" || cat.starts_with("async")) return FlowKind::kLaunch;
  return FlowKind::kOther;
}

}  // namespace redline::trace
