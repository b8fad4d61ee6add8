#include "profiler/cupti/occupancy.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace redline::cupti {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr int64_t kRegistersAtOnce = 256;  ///< allocation unit of a warp, since capability 3
constexpr int64_t kPartitionsOfSm = 4;     ///< each has its own registers and warps

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

int64_t limit_by_registers(const DeviceProperties& device, const Launch& launch, int64_t warps) {
  if (launch.registers_per_thread <= 0) return kNoLimit;
  const int64_t of_warp =
      round_up(int64_t{launch.registers_per_thread} * device.warp_size, kRegistersAtOnce);
  return device.registers_per_sm / kPartitionsOfSm / of_warp * kPartitionsOfSm / warps;
}

int64_t limit_by_shared_memory(const DeviceProperties& device, const Launch& launch) {
  const int64_t unit = device.major >= 8 ? 128 : 256;
  const int64_t of_block = round_up(launch.shared_memory + device.reserved_shared_memory, unit);
  return of_block > 0 ? device.shared_memory_per_sm / of_block : kNoLimit;
}

int64_t product(const int64_t (&sizes)[3]) {
  int64_t result = 1;
  for (const int64_t size : sizes) result *= std::max<int64_t>(size, 0);
  return result;
}

}  // namespace

Occupancy estimate_occupancy(const DeviceProperties& device, const Launch& launch) {
  Occupancy result;
  const int64_t threads = product(launch.block);
  if (threads == 0 || device.sms <= 0 || device.warp_size <= 0 || device.max_threads_per_sm <= 0) {
    return result;
  }
  const int64_t warps = (threads + device.warp_size - 1) / device.warp_size;
  const std::pair<const char*, int64_t> limits[] = {
      {"WARPS", device.max_threads_per_sm / device.warp_size / warps},
      {"REGS", limit_by_registers(device, launch, warps)},
      {"SMEM", limit_by_shared_memory(device, launch)},
      {"BLOCKS", device.max_blocks_per_sm > 0 ? device.max_blocks_per_sm : kNoLimit}};
  result.active_blocks = kNoLimit;
  for (const auto& [name, limit] : limits) {
    result.active_blocks = std::min(result.active_blocks, limit);
  }
  for (const auto& [name, limit] : limits) {
    if (limit != result.active_blocks) continue;
    result.limited_by += result.limited_by.empty() ? name : std::string("|") + name;
  }
  result.blocks_per_sm = static_cast<float>(product(launch.grid)) / static_cast<float>(device.sms);
  result.warps_per_sm =
      result.blocks_per_sm * static_cast<float>(threads) / static_cast<float>(device.warp_size);
  const float at_once = std::min(result.blocks_per_sm, static_cast<float>(result.active_blocks));
  const float share =
      at_once * static_cast<float>(threads) / static_cast<float>(device.max_threads_per_sm);
  result.percent = static_cast<int>(0.5 + static_cast<double>(share) * 100.0);
  return result;
}

}  // namespace redline::cupti
