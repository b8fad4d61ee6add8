#include "profiler/cupti/cupti_library.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "profiler/source/gpu_work.h"

namespace redline::cupti {
namespace {

/// CUPTI's names for programs that use its API, such as torch.profiler, begin with this. The names
/// of Nsight and other tools do not.
constexpr std::string_view kUsersOfCupti = "CUPTI";

// Other tools, and how to recognise them in a process that they watch.
struct Tool {
  const char* variable;
  const char* library;
  const char* name;
};
constexpr Tool kTools[] = {
    {"NSYS_PROFILING_SESSION_ID", "libToolsInjection64.so", "Nsight Systems"},
    {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "libcuda-injection.so", "Nsight Compute"},
    {"NV_SANITIZER_INJECTION_PORT_BASE", "libsanitizer-collection.so", "compute-sanitizer"},
};

/// The tool whose environment variable or library this process has; "" if there is none.
std::string tool_by_its_traces() {
  for (const Tool& tool : kTools) {
    if (std::getenv(tool.variable) != nullptr || !loaded_library(tool.library).empty()) {
      return tool.name;
    }
  }
  const char* injected = std::getenv("CUDA_INJECTION64_PATH");
  const std::string_view path = injected != nullptr ? injected : "";
  const bool is_other = !path.empty() && !path.ends_with("libredline.so");
  return is_other ? std::string(path) : "";
}

/// Whether the function `name` of this process's LibTorch, which takes no arguments, gives true.
bool torch_says(const char* name) {
  void* torch = dlopen(loaded_library("libtorch_cpu.so").c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (torch == nullptr) return false;
  auto* function = reinterpret_cast<bool (*)()>(dlsym(torch, name));
  const bool says = function != nullptr && function();
  dlclose(torch);
  return says;
}

std::atomic<bool (*)()> g_torch_profiler_query = nullptr;

/// Whether torch.profiler records or is in its warm-up. Without the LibTorch adapter we only see
/// whether it records this thread or the main thread.
bool is_torch_profiler_active() {
  bool (*const query)() = g_torch_profiler_query;
  return (query != nullptr && query()) ||
         torch_says("_ZN5torch8profiler4impl15profilerEnabledEv") ||
         torch_says("_ZN5torch8autograd8profiler29isProfilerEnabledInMainThreadEv");
}

bool has_torch() { return !loaded_library("libtorch_cpu.so").empty(); }

void ignore(void*, int, uint32_t, const void*) {}

}  // namespace

std::string other_tool(const std::string& name_in_cupti) {
  const bool is_named = !name_in_cupti.empty() && !name_in_cupti.starts_with(kUsersOfCupti);
  if (is_named) return name_in_cupti;
  if (const std::string tool = tool_by_its_traces(); !tool.empty()) return tool;
  if (is_torch_profiler_active()) return "torch.profiler";
  return name_in_cupti.empty() ? "another profiler" : name_in_cupti;
}

std::string Subscription::take(const Library& library) {
  if (library.subscribe == nullptr || library.unsubscribe == nullptr) return "";
  char other[64] = "";
  SubscriberParams params;
  params.name = "Redline";
  params.other = other;
  params.other_size = sizeof(other);
  const Result result = library.subscribe_v2 != nullptr
                            ? library.subscribe_v2(&handle_, ignore, nullptr, &params)
                            : library.subscribe(&handle_, ignore, nullptr);
  if (result == kMultipleSubscribers) {
    handle_ = nullptr;
    const std::string tool = other_tool(other);
    // torch.profiler keeps the place after it has recorded, but does not use it any more.
    const bool is_idle_torch = has_torch() && !is_torch_profiler_active() &&
                               tool_by_its_traces().empty() &&
                               (other[0] == '\0' || tool.starts_with(kUsersOfCupti));
    return is_idle_torch ? "" : tool;
  }
  if (result != kSuccess) handle_ = nullptr;  // set_up() and enable_kinds() will report what fails
  if (has_torch()) release(library);
  return "";
}

void Subscription::release(const Library& library) {
  if (handle_ != nullptr) static_cast<void>(library.unsubscribe(handle_));
  handle_ = nullptr;
}

}  // namespace redline::cupti

namespace redline::profiler {

void set_torch_profiler_query(bool (*is_active)()) noexcept {
  cupti::g_torch_profiler_query = is_active;
}

}  // namespace redline::profiler
