// For tests: records one window and reads its trace.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/log/record.h"
#include "tests/recording.h"
#include "tests/stubs/stubs.h"
#include "tests/variables.h"

namespace redline::cupti {

class GpuWindow : public ::testing::Test, protected testing::Variables {
 protected:
  GpuWindow() {
    stub::reset_cupti();
    stub::clear_devices();
    stub::set_cuda_initialized(true);
    stub::add_device(a100());
    stub::name_function(kRuntimeDomain, 211, "cudaLaunchKernel_v7000");
    stub::name_function(kRuntimeDomain, 311, "cudaGraphLaunch_v10000");
    stub::name_function(kRuntimeDomain, 17, "cudaGetDevice_v3020");
    stub::name_function(kDriverDomain, 307, "cuLaunchKernel");
    stub::name_function(kDriverDomain, 1, "cuInit");
  }
  ~GpuWindow() override { redline_discard(); }

  static stub::Device a100() {
    return {.name = "NVIDIA A100",
            .memory = 42297524224,
            .attributes = {{1, 1024},
                           {8, 49152},
                           {10, 32},
                           {12, 65536},
                           {16, 108},
                           {39, 2048},
                           {75, 8},
                           {76, 0},
                           {81, 167936},
                           {82, 65536},
                           {97, 166912},
                           {106, 32},
                           {111, 1024}}};
  }

  static void begin(bool with_gpu = true, bool with_memory = false) {
    testing::begin_recording(
        {{"host_samples_hz", 0}, {"gpu", with_gpu}, {"profile_memory", with_memory}});
  }
  [[nodiscard]] nlohmann::json end() const { return testing::end_recording(folder_); }

  /// The events of a category, in the order of the file.
  static std::vector<nlohmann::json> events(const nlohmann::json& trace,
                                            const std::string& category) {
    std::vector<nlohmann::json> found;
    for (const auto& event : trace["traceEvents"]) {
      if (event["cat"] == category) found.push_back(event);
    }
    return found;
  }

  const testing::TemporaryFolder folder_;
};

inline uint64_t now() { return static_cast<uint64_t>(monotonic_ns()); }

inline ApiRecord launch_call(uint32_t correlation, uint64_t begin, uint32_t function = 211) {
  return {.kind = Kind::kRuntime,
          .function = function,
          .start = begin,
          .end = begin + 100,
          .process = static_cast<uint32_t>(getpid()),
          .thread = static_cast<uint32_t>(gettid()),
          .correlation = correlation,
          .result = 0};
}

inline KernelRecord kernel(uint32_t correlation, uint64_t begin, const char* name = "_Z3addPf") {
  KernelRecord record = {};
  record.kind = Kind::kConcurrentKernel;
  record.registers_per_thread = 32;
  record.start = begin;
  record.end = begin + 1000;
  record.context = 1;
  record.stream = 7;
  record.grid[0] = 216;
  record.grid[1] = record.grid[2] = record.block[1] = record.block[2] = 1;
  record.block[0] = 256;
  record.dynamic_shared_memory = 512;
  record.static_shared_memory = 256;
  record.correlation = correlation;
  record.name = name;
  return record;
}

/// A call, and the kernel that it starts.
inline void run_kernel() {
  const uint64_t begun = now();
  stub::call(launch_call(1, begun));
  stub::emit_record(kernel(1, begun + 500));
}

}  // namespace redline::cupti
