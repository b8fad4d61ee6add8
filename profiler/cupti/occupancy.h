// Estimates how full a kernel makes a GPU, from its launch and the device's limits.
//
// The limits are those of NVIDIA's programming guide. The estimate and its rounding are Kineto's,
// in float as there, so that both print the same number. There is one difference: for a kernel that
// opted in to more shared memory than a block has by default, Kineto gives 0 and we the estimate.
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
  int reserved_shared_memory = 0;  ///< what the system needs in each block
  int max_blocks_per_sm = 0;
};

struct Launch {
  int64_t grid[3] = {1, 1, 1};
  int64_t block[3] = {1, 1, 1};
  int registers_per_thread = 0;
  int64_t shared_memory = 0;  ///< static and dynamic
};

struct Occupancy {
  float blocks_per_sm = 0;  ///< of the whole grid, even if they do not fit at once
  float warps_per_sm = 0;
  int percent = 0;            ///< "est. achieved occupancy %"
  int64_t active_blocks = 0;  ///< how many blocks fit into an SM at once
  std::string limited_by;     ///< "WARPS", "REGS|SMEM", …
};

[[nodiscard]] Occupancy estimate_occupancy(const DeviceProperties& device, const Launch& launch);

}  // namespace redline::cupti
