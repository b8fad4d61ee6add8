// Counts operators while somebody asks whether the job moves. Without that, no operator is
// observed.
#include <ATen/record_function.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "profiler/torch/torch_ops.h"

namespace redline::profiler {
namespace {

std::atomic<int64_t> g_operators = 0;

std::unique_ptr<at::ObserverContext> count_operator(const at::RecordFunction&) noexcept {
  g_operators.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

}  // namespace
}  // namespace redline::profiler

int64_t redline_torch_count_operators(int is_on) {
  using namespace redline::profiler;
  static std::mutex mutex;
  static at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
  const std::lock_guard lock(mutex);
  try {
    if (is_on != 0 && handle == at::INVALID_CALLBACK_HANDLE) {
      handle = at::addGlobalCallback(
          at::RecordFunctionCallback(count_operator).scopes({at::RecordScope::FUNCTION}));
    } else if (is_on == 0 && handle != at::INVALID_CALLBACK_HANDLE) {
      at::removeCallback(std::exchange(handle, at::INVALID_CALLBACK_HANDLE));
    }
  } catch (...) {
    return -1;
  }
  return g_operators.load(std::memory_order_relaxed);
}
