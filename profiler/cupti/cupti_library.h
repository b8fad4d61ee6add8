// CUPTI, reached at run time: one table of function pointers, which is also where tests put theirs.
//
// A process must have only one CUPTI, and LibTorch brings its own: we use the one that is already
// loaded. Without an NVIDIA driver we look for none. CUPTI accepts one tool at a time, so another
// tool, such as Nsight Systems, may be there before us.
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
  uint32_t version = 0;  ///< of cuptiGetVersion()

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
  // Not in every version.
  Result (*configure_unified_memory)(UnifiedMemoryConfig*, uint32_t count) = nullptr;
  Result (*set_attribute)(int attribute, size_t* size, void* value) = nullptr;
  Result (*subscribe)(SubscriberHandle*, Callback, void* user_data) = nullptr;
  Result (*subscribe_v2)(SubscriberHandle*, Callback, void* user_data, SubscriberParams*) = nullptr;
  Result (*unsubscribe)(SubscriberHandle) = nullptr;
  Result (*stream_id)(void* context, void* stream, uint8_t is_per_thread, uint32_t*) = nullptr;
  Result (*device_id)(void* context, uint32_t*) = nullptr;
  Result (*enable_all_waits)(uint8_t enable) = nullptr;
  Result (*record_runtime_function)(uint32_t function, uint8_t enable) = nullptr;
  Result (*record_driver_function)(uint32_t function, uint8_t enable) = nullptr;

  [[nodiscard]] std::string error_text(Result result) const;
};

/// The path of the library of this process whose file name begins with `name`; "" without one.
[[nodiscard]] std::string loaded_library(std::string_view name);

/// The names by which CUPTI is looked for where none is loaded, the best for a driver of that
/// version (such as 13000) first: CUPTI needs a driver of its own major version or a later one.
[[nodiscard]] std::vector<std::string> library_names(int driver_version);

/// The CUPTI of this process, loaded now if CUDA is there without it. None: there is neither, and
/// nothing to be said about it. An error is one line for the user.
[[nodiscard]] tl::expected<std::optional<Library>, std::string> find_library();

/// Our place as the tool that CUPTI serves in a window, under our name.
///
/// Where LibTorch is in the process, the place is given back as soon as it is known to be free:
/// torch.profiler asks for it once in the life of a process, and if it is refused then, it shows no
/// GPU any more.
class Subscription {
 public:
  /// Who else has the place; "": nobody who would be disturbed.
  [[nodiscard]] std::string take(const Library& library);
  void release(const Library& library);

 private:
  SubscriberHandle handle_ = nullptr;
};

/// The other tool: by the name that it gave CUPTI, if it is known, or by what it leaves in a
/// process.
[[nodiscard]] std::string other_tool(const std::string& name_in_cupti = "");

}  // namespace redline::cupti
