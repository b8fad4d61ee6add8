// Small steps of training for tests of advice. Most take 100 ms, so that a millisecond is a
// percent.
#pragma once

#include <optional>
#include <string>

#include "tests/trace_text.h"

namespace redline::testing {

inline TraceText one_step() { return TraceText().step(0, 0, 100 * kMs); }

inline std::string gpu(const char* name, int major, int minor) {
  return fmt::format(R"("deviceProperties": [{{"id": 0, "name": "{}", "totalGlobalMem": 1000, )"
                     R"("computeMajor": {}, "computeMinor": {}}}])",
                     name, major, minor);
}

/// One step of 100 ms on a V100, whose GPU runs `kernel` from 1 us on.
inline TraceText gpu_step(int64_t kernel_ns, const char* kernel = "elementwise_kernel",
                          const std::string& device = gpu("V100", 7, 0)) {
  TraceText text;
  text.top(device).step(0, 0, 100 * kMs).cpu_op("aten::mm", 0, kUs);
  if (kernel_ns > 0) {
    text.runtime("cudaLaunchKernel", 100, 200, 1);
    text.kernel(kernel, kUs, kUs + kernel_ns, on_stream(7, 1));
  }
  return text;
}

/// The host launches a kernel of `length_ns` every `period_ns`.
inline TraceText launches(int count, int64_t period_ns, int64_t length_ns = 50 * kUs) {
  TraceText text = gpu_step(0).cpu_op("aten::relu", 0, 100 * kMs);
  for (int i = 0; i < count; ++i) {
    const auto id = static_cast<uint32_t>(i + 1);
    text.runtime("cudaLaunchKernel", i * period_ns, i * period_ns + 5 * kUs, id);
    text.kernel("elementwise", i * period_ns + 10 * kUs, i * period_ns + 10 * kUs + length_ns,
                on_stream(7, id));
  }
  return text;
}

/// What the allocator held of the GPU's 1,000 bytes, all of it in use or so much.
inline std::string holding(int64_t bytes, std::optional<int64_t> in_use = {}) {
  return fmt::format(
      R"({{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 7, "args": {{)"
      R"("Device Type": 1, "Device Id": 0, "Total Allocated": {}, "Total Reserved": {}}}}})",
      in_use.value_or(bytes), bytes);
}

}  // namespace redline::testing
