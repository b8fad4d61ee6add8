#include "profiler/cupti/teardown.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "profiler/cupti/cupti_source.h"

namespace redline::cupti {
namespace {

constexpr int kAtExit = 1;  // CUPTI_API_EXIT, the first member of CUpti_CallbackData

/// CUPTI's functions while a teardown waits for a call of CUDA.
std::atomic<const Library*> g_waiting = nullptr;

void end_cupti(void*, int, uint32_t, const void* call) {
  if (*static_cast<const int*>(call) != kAtExit) return;
  const Library* library = g_waiting.exchange(nullptr);
  if (library == nullptr) return;
  // An id that is popped later would start CUPTI again.
  shared_state().pops = nullptr;
  static_cast<void>(library->finalize());
}

}  // namespace

bool wants_teardown(const Library& library) {
  const char* text = ::secure_getenv("REDLINE_GPU_TEARDOWN");
  return text != nullptr && std::string_view(text) == "on" && library.version >= kVersion12_6 &&
         library.subscribe != nullptr && library.unsubscribe != nullptr &&
         library.enable_domain != nullptr && library.finalize != nullptr;
}

void Teardown::begin(const Library& library) {
  if (library.subscribe(&handle_, end_cupti, nullptr) != kSuccess) {
    handle_ = nullptr;
    return;
  }
  g_waiting = &library;
  for (const int domain : {kDriverDomain, kRuntimeDomain}) {
    static_cast<void>(library.enable_domain(1, handle_, domain));
  }
}

void Teardown::cancel(const Library& library) {
  const bool has_ended = g_waiting.exchange(nullptr) == nullptr;
  if (handle_ != nullptr && !has_ended) static_cast<void>(library.unsubscribe(handle_));
  handle_ = nullptr;
}

}  // namespace redline::cupti
