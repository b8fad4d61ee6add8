// For record_overhead.py: measures what LibTorch itself takes for an observer. The observer does
// nothing, and the operators do almost nothing, so that the added time shows.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>

#include <memory>

#define BENCH_API extern "C" __attribute__((visibility("default")))

namespace {

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction&) { return nullptr; }
void on_end(const at::RecordFunction&, at::ObserverContext*) {}

at::CallbackHandle g_handle = at::INVALID_CALLBACK_HANDLE;

}  // namespace

BENCH_API void redline_bench_observe(int with_inputs) {
  auto callback = at::RecordFunctionCallback(on_begin, on_end);
  callback.needsInputs(with_inputs != 0).scopes({});
  g_handle = at::addGlobalCallback(callback);
}

BENCH_API void redline_bench_observe_no_more() { at::removeCallback(g_handle); }

BENCH_API void redline_bench_operators(int count) {
  const at::NoGradGuard no_grad;
  const at::Tensor tensor = at::zeros({2, 3});
  for (int i = 0; i < count; ++i) static_cast<void>(at::alias(tensor));
}

BENCH_API void redline_bench_annotations(int count) {
  for (int i = 0; i < count; ++i) {
    RECORD_USER_SCOPE("an annotation of the user's");
  }
}

BENCH_API void redline_bench_allocations(int count) {
  c10::Allocator& allocator = *c10::GetCPUAllocator();
  for (int i = 0; i < count; ++i) static_cast<void>(allocator.allocate(64));
}
