#include "profiler/cupti/teardown.h"

#include <atomic>
#include <thread>

#include "base/user_switch.h"
#include "profiler/cupti/cupti_source.h"

namespace redline::cupti {
namespace {

constexpr int kAtExit = 1;  // CUPTI_API_EXIT, the first member of CUpti_CallbackData

enum class Progress { kNone, kWaiting, kEnding };
std::atomic<Progress> g_progress = Progress::kNone;

void end_cupti(void* library, int, uint32_t, const void* call) {
  if (*static_cast<const int*>(call) != kAtExit) return;
  Progress waiting = Progress::kWaiting;
  if (!g_progress.compare_exchange_strong(waiting, Progress::kEnding)) return;
  // An id that is popped later would start CUPTI again.
  shared_state().pops = nullptr;
  static_cast<void>(static_cast<const Library*>(library)->finalize());
  g_progress = Progress::kNone;
}

}  // namespace

bool wants_teardown(const Library& library) {
  return wants_gpu_teardown() && library.version >= kVersion12_6 && library.subscribe != nullptr &&
         library.unsubscribe != nullptr && library.enable_domain != nullptr &&
         library.finalize != nullptr;
}

void Teardown::begin(const Library& library) {
  auto* user_data = const_cast<Library*>(&library);
  if (library.subscribe(&handle_, end_cupti, user_data) != kSuccess) {
    handle_ = nullptr;
    return;
  }
  g_progress = Progress::kWaiting;
  for (const int domain : {kDriverDomain, kRuntimeDomain}) {
    static_cast<void>(library.enable_domain(1, handle_, domain));
  }
}

void Teardown::cancel(const Library& library) {
  Progress waiting = Progress::kWaiting;
  if (g_progress.compare_exchange_strong(waiting, Progress::kNone)) {
    static_cast<void>(library.unsubscribe(handle_));
  }
  // Another thread may be ending CUPTI right now.
  while (g_progress == Progress::kEnding) std::this_thread::yield();
  handle_ = nullptr;
}

}  // namespace redline::cupti
