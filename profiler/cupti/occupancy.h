// How full a kernel makes a GPU, from its launch and the device's limits.
//
// The limits are those of NVIDIA's programming guide; the estimate and its rounding are Kineto's,
// in float like there, so that both print the same number. Kineto gives 0 to kernels that opted in
// to more shared memory than a block has by default; we give the estimate.
#pragma once

#include <cstdint>
#include <string>

namespace redline::cupti {

struct DeviceProperties {
  uint32_t id = 0;
  std::string name = {};
  uint64_t total_memory = 0;
  int major = 0;
  int minor = 0;
  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;
  int registers_per_block = 0;
  int warp_size = 0;
  int shared_memory_per_block = 0;
  int sms = 0;
  int registers_per_sm = 0;
  int shared_memory_per_block_optin = 0;
  int shared_memory_per_sm = 0;
  int reserved_shared_memory = 0;  ///< of a block, for the system
  int max_blocks_per_sm = 0;
};

struct Launch {
  int64_t grid[3] = {1, 1, 1};
  int64_t block[3] = {1, 1, 1};
  int registers_per_thread = 0;
  int64_t shared_memory = 0;  ///< static and dynamic
};

struct Occupancy {
  float blocks_per_sm = 0;  ///< of the whole grid, not limited
  float warps_per_sm = 0;
  int percent = 0;            ///< "est. achieved occupancy %"
  int64_t active_blocks = 0;  ///< that fit an SM at once
  std::string limited_by;     ///< "WARPS", "REGS|SMEM", …
};

[[nodiscard]] Occupancy estimate_occupancy(const DeviceProperties& device, const Launch& launch);

}  // namespace redline::cupti
