// What the "args" of activities say beside the call and the operator they belong to: Kineto's
// members, in Kineto's order, without braces.
#pragma once

#include <cstdint>
#include <string>

#include "profiler/cupti/cupti_abi.h"
#include "profiler/cupti/occupancy.h"

namespace redline::cupti {

/// Where a CUDA event was recorded that others wait for.
struct RecordedEvent {
  uint32_t stream = 0;
  uint32_t correlation = 0;
};

/// Without `device`, nothing is said of how full it is.
[[nodiscard]] std::string args_of(const KernelRecord& kernel, const DeviceProperties* device);
/// A hash of everything that args_of() takes from a kernel; never 0.
[[nodiscard]] uint64_t args_key(const KernelRecord& kernel);

[[nodiscard]] std::string args_of(const MemcpyRecord& copy);
[[nodiscard]] std::string args_of(const PeerCopyRecord& copy);
[[nodiscard]] std::string args_of(const MemsetRecord& set);
/// `event`: the one that is waited for, if it was seen.
[[nodiscard]] std::string args_of(const SynchronizationRecord& sync, uint32_t device,
                                  const RecordedEvent* event);
[[nodiscard]] std::string args_of(const MemoryRecord& memory);
[[nodiscard]] std::string args_of(const MemoryPoolRecord& pool);
[[nodiscard]] std::string args_of(const UnifiedMemoryRecord& migration);

}  // namespace redline::cupti
