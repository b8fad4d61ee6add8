// Finds CUPTI at run time. Its functions are in one table of pointers, into which tests put theirs.
//
// A process must have only one CUPTI, and LibTorch brings one: so we use a CUPTI that is already
// loaded. Without an NVIDIA driver we do not look for one. CUPTI serves one tool at a time, and
// another tool, such as Nsight Systems, may be there before us.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "profiler/cupti/cupti_abi.h"

namespace redline::cupti {

struct Library {
  std::string path;
  uint32_t version = 0;  ///< from cuptiGetVersion()

  Result (*get_version)(uint32_t*) = nullptr;
  Result (*get_result_string)(Result, const char**) = nullptr;
  Result (*get_callback_name)(int domain, uint32_t function, const char**) = nullptr;
  Result (*set_thread_id_type)(int) = nullptr;
  Result (*register_callbacks)(BufferRequested, BufferCompleted) = nullptr;
  Result (*enable)(Kind) = nullptr;
  Result (*disable)(Kind) = nullptr;
  Result (*flush_all)(uint32_t flags) = nullptr;
  NextRecord get_next_record = nullptr;
  Result (*get_timestamp)(uint64_t*) = nullptr;
  Result (*get_dropped)(void* context, uint32_t stream, size_t* dropped) = nullptr;
  Result (*push_external_id)(uint32_t kind, uint64_t id) = nullptr;
  Result (*pop_external_id)(uint32_t kind, uint64_t* last) = nullptr;
  // These may be nullptr, because not every version of CUPTI has them.
  Result (*configure_unified_memory)(UnifiedMemoryConfig*, uint32_t count) = nullptr;
  Result (*set_attribute)(int attribute, size_t* size, void* value) = nullptr;
  Result (*subscribe)(SubscriberHandle*, Callback, void* user_data) = nullptr;
  Result (*subscribe_v2)(SubscriberHandle*, Callback, void* user_data, SubscriberParams*) = nullptr;
  Result (*unsubscribe)(SubscriberHandle) = nullptr;
  Result (*enable_domain)(uint32_t enable, SubscriberHandle, int domain) = nullptr;
  Result (*finalize)() = nullptr;
  Result (*stream_id)(void* context, void* stream, uint8_t is_per_thread, uint32_t*) = nullptr;
  Result (*device_id)(void* context, uint32_t*) = nullptr;
  Result (*enable_all_waits)(uint8_t enable) = nullptr;
  Result (*record_runtime_function)(uint32_t function, uint8_t enable) = nullptr;
  Result (*record_driver_function)(uint32_t function, uint8_t enable) = nullptr;

  [[nodiscard]] std::string error_text(Result result) const;
  /// The name of a function of CUDA; "" if CUPTI does not tell it.
  [[nodiscard]] std::string_view function_name(int domain, uint32_t function) const;
};

/// The path of a library that this process has loaded and whose file name begins with `name`; "" if
/// there is none.
[[nodiscard]] std::string loaded_library(std::string_view name);

/// The file names to try if no CUPTI is loaded, best first. A CUPTI needs a driver of its own major
/// version or a later one, so the order depends on `driver_version` (such as 13000).
[[nodiscard]] std::vector<std::string> library_names(int driver_version);

/// The CUPTI of this process. If CUDA is loaded without it, CUPTI is loaded now. nullopt if the
/// process has neither, of which the user need not hear. An error is one line for the user.
[[nodiscard]] tl::expected<std::optional<Library>, std::string> find_library();

/// Subscribes to CUPTI under our name for a window. CUPTI has one place for a subscriber.
///
/// If the process has LibTorch, we give the place back as soon as we know that it was free:
/// torch.profiler asks for it once in the life of a process, and if it is refused then, it shows no
/// GPU any more.
class Subscription {
 public:
  /// Gives the name of another tool that has the place; "" if we would disturb nobody.
  [[nodiscard]] std::string take(const Library& library);
  void release(const Library& library);

 private:
  SubscriberHandle handle_ = nullptr;
};

/// What to call the other tool: the name that it gave CUPTI, if that is known. Otherwise the name
/// is guessed from the environment variables and libraries of this process.
[[nodiscard]] std::string other_tool(const std::string& name_in_cupti = "");

}  // namespace redline::cupti
