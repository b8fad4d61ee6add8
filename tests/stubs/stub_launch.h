// A launch and its kernel, as a real program would make them.
#pragma once

#include <unistd.h>

#include "base/clock.h"
#include "tests/stubs/stubs.h"

namespace redline::stub {

/// Number of cudaLaunchKernel among the runtime's functions.
constexpr uint32_t kLaunchKernel = 211;

/// Launches a kernel, whose record comes in the buffer of `gpu_thread`.
inline void launch(uint32_t correlation, int gpu_thread = 0) {
  const auto begin = static_cast<uint64_t>(monotonic_ns());
  cupti::ApiRecord launched;
  launched.kind = cupti::Kind::kRuntime;
  launched.function = kLaunchKernel;
  launched.start = begin;
  launched.end = begin + 100;
  launched.process = static_cast<uint32_t>(getpid());
  launched.thread = static_cast<uint32_t>(gettid());
  launched.correlation = correlation;
  call(launched);
  cupti::KernelRecord kernel;
  kernel.kind = cupti::Kind::kConcurrentKernel;
  kernel.start = begin + 200;
  kernel.end = begin + 300;
  kernel.stream = 7;
  kernel.correlation = correlation;
  kernel.name = "_Z3addPf";
  emit_record(kernel, gpu_thread);
}

}  // namespace redline::stub
