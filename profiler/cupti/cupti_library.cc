#include "profiler/cupti/cupti_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "profiler/cupti/device_table.h"
#include "profiler/source/gpu_work.h"

namespace redline::cupti {

std::string loaded_library(std::string_view name) {
  struct Search {
    std::string_view name;
    std::string path;
  } search{name, ""};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& found = *static_cast<Search*>(data);
        const std::string_view path = info->dlpi_name;
        if (!path.substr(path.rfind('/') + 1).starts_with(found.name)) return 0;
        found.path = path;
        return 1;
      },
      &search);
  return search.path;
}

namespace {

void* open_library(const std::string& loaded) {
  if (!loaded.empty()) return dlopen(loaded.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  for (const std::string& name : library_names(cuda_driver_version().value_or(0))) {
    if (void* library = dlopen(name.c_str(), RTLD_LAZY)) return library;
  }
  return nullptr;
}

template <typename Function>
bool bind(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

/// Fills the table. Gives the name of a needed function that is missing, or nullptr.
const char* bind_all(void* handle, Library& library) {
  bind(handle, "cuptiActivitySetAttribute", library.set_attribute);
  bind(handle, "cuptiSubscribe", library.subscribe);
  bind(handle, "cuptiSubscribe_v2", library.subscribe_v2);
  bind(handle, "cuptiUnsubscribe", library.unsubscribe);
  bind(handle, "cuptiEnableDomain", library.enable_domain);
  bind(handle, "cuptiFinalize", library.finalize);
  bind(handle, "cuptiGetStreamIdEx", library.stream_id);
  bind(handle, "cuptiGetDeviceId", library.device_id);
  bind(handle, "cuptiActivityEnableAllSyncRecords", library.enable_all_waits);
  bind(handle, "cuptiActivityEnableRuntimeApi", library.record_runtime_function);
  bind(handle, "cuptiActivityEnableDriverApi", library.record_driver_function);
  bind(handle, "cuptiActivityConfigureUnifiedMemoryCounter", library.configure_unified_memory);
#define REDLINE_BIND(name, field) \
  if (!bind(handle, name, library.field)) return name
  REDLINE_BIND("cuptiGetVersion", get_version);
  REDLINE_BIND("cuptiGetResultString", get_result_string);
  REDLINE_BIND("cuptiGetCallbackName", get_callback_name);
  REDLINE_BIND("cuptiSetThreadIdType", set_thread_id_type);
  REDLINE_BIND("cuptiActivityRegisterCallbacks", register_callbacks);
  REDLINE_BIND("cuptiActivityEnable", enable);
  REDLINE_BIND("cuptiActivityDisable", disable);
  REDLINE_BIND("cuptiActivityFlushAll", flush_all);
  REDLINE_BIND("cuptiActivityGetNextRecord", get_next_record);
  REDLINE_BIND("cuptiGetTimestamp", get_timestamp);
  REDLINE_BIND("cuptiActivityGetNumDroppedRecords", get_dropped);
  REDLINE_BIND("cuptiActivityPushExternalCorrelationId", push_external_id);
  REDLINE_BIND("cuptiActivityPopExternalCorrelationId", pop_external_id);
#undef REDLINE_BIND
  return nullptr;
}

}  // namespace

std::string Library::error_text(Result result) const {
  const char* text = nullptr;
  if (get_result_string(result, &text) == kSuccess && text != nullptr) return text;
  return "CUPTI error " + std::to_string(result);
}

std::string_view Library::function_name(int domain, uint32_t function) const {
  const char* name = nullptr;
  const Result result = get_callback_name(domain, function, &name);
  return result == kSuccess && name != nullptr ? name : "";
}

std::vector<std::string> library_names(int driver_version) {
  constexpr std::pair<int, const char*> kByMajor[] = {
      {13, "libcupti.so.13"}, {12, "libcupti.so.12"}, {11, "libcupti.so.11.8"}};
  const auto add_where = [&](std::vector<std::string>& names, bool fits) {
    for (const auto& [major, name] : kByMajor) {
      const bool is_served = driver_version == 0 || driver_version / 1000 >= major;
      if (is_served == fits) names.emplace_back(name);
    }
  };
  std::vector<std::string> names;
  add_where(names, true);
  // The loader does not search the toolkit's folders.
  names.insert(names.end(), {"libcupti.so", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                             "/usr/local/cuda/lib64/libcupti.so"});
  add_where(names, false);
  return names;
}

tl::expected<std::optional<Library>, std::string> find_library() {
  if (!profiler::has_cuda_driver()) return std::nullopt;
  const std::string loaded = loaded_library("libcupti.so");
  // A process that has not loaded CUDA may never do so.
  if (loaded.empty() && loaded_library("libcuda.so").empty()) return std::nullopt;
  void* handle = open_library(loaded);
  if (handle == nullptr) {
    return tl::unexpected(
        std::string("no libcupti.so is found; it comes with PyTorch and with the "
                    "CUDA toolkit (extras/CUPTI/lib64): set LD_LIBRARY_PATH"));
  }
  Library library;
  library.path = loaded.empty() ? loaded_library("libcupti.so") : loaded;
  if (const char* missing = bind_all(handle, library)) {
    return tl::unexpected(library.path + " has no " + missing + ": CUDA 11.8 or later is needed");
  }
  if (const Result result = library.get_version(&library.version); result != kSuccess) {
    return tl::unexpected(library.path + ": " + library.error_text(result));
  }
  if (library.version < kVersion11_8) {
    return tl::unexpected(library.path + " is CUPTI " + std::to_string(library.version) +
                          ": CUDA 11.8 or later is needed");
  }
  return library;
}

}  // namespace redline::cupti

namespace redline::profiler {

bool has_cuda_driver() {
  if (!cupti::loaded_library("libcuda.so").empty()) return true;
  // /dev/dxg is the device of WSL, the Windows subsystem for Linux.
  return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

}  // namespace redline::profiler
