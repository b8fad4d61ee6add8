#include "profiler/torch/operator_args.h"

#include <torch/csrc/profiler/unwind/unwind.h>

#include <algorithm>

#include "profiler/source/source.h"

namespace redline::profiler {

TextId capture_native_stack() noexcept {
  constexpr size_t kMostFrames = 64;
  try {
    const auto addresses = torch::unwind::unwind();
    const size_t bytes = std::min(addresses.size(), kMostFrames) * sizeof(void*);
    return intern_args({reinterpret_cast<const char*>(addresses.data()), bytes});
  } catch (...) {
    return {};
  }
}

}  // namespace redline::profiler
