// Stands for libtorch_cpu.so in tests that open it: only what tells whether torch.profiler records.
#include "tests/stubs/stubs.h"

namespace torch {
namespace {

bool g_of_this_thread = false;
bool g_of_main_thread = false;

}  // namespace

namespace profiler::impl {
STUB_API bool profilerEnabled() { return g_of_this_thread; }
}  // namespace profiler::impl

namespace autograd::profiler {
STUB_API bool isProfilerEnabledInMainThread() { return g_of_main_thread; }
}  // namespace autograd::profiler

}  // namespace torch

extern "C" STUB_API void stub_torch_records(bool this_thread, bool main_thread) {
  torch::g_of_this_thread = this_thread;
  torch::g_of_main_thread = main_thread;
}
