// What a trace says of activities: Kineto's names, to the letter, and Kineto's members of "args",
// in Kineto's order and without braces, beside the call and the operator that they belong to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/cupti/cupti_abi.h"
#include "profiler/cupti/occupancy.h"

namespace redline::cupti {

/// As in the source code. "kernel" alone becomes "Kernel", since TensorBoard's plugin trips over
/// it.
[[nodiscard]] std::string kernel_name(const char* symbol);

/// "Memcpy HtoD (Pageable -> Device)"
[[nodiscard]] std::string copy_name(uint8_t copy_kind, uint8_t source, uint8_t destination);
/// "Memset (Device)"
[[nodiscard]] std::string memset_name(uint16_t memory_kind);
/// "Allocation (Device)", "Release (Pinned)"
[[nodiscard]] std::string memory_operation_name(uint32_t operation, uint32_t memory_kind);
/// "Memory Pool Created"
[[nodiscard]] std::string_view pool_operation_name(uint32_t operation);
/// "Unified Memory HtoD", "Unified Memory GPU Page Faults"
[[nodiscard]] std::string_view unified_memory_name(uint32_t counter);
/// "Stream Sync"
[[nodiscard]] std::string_view synchronization_name(uint32_t type);
/// "Buffer Flush"
[[nodiscard]] std::string_view overhead_name(uint32_t kind);

/// "cudaLaunchKernel" of "cudaLaunchKernel_v7000"
[[nodiscard]] std::string_view runtime_function_name(std::string_view name);
/// Calls that a job makes by the thousand and that start nothing on a GPU, such as cudaGetDevice.
[[nodiscard]] bool is_noise(std::string_view runtime_function);
/// The same of the driver's functions.
[[nodiscard]] bool is_driver_noise(std::string_view driver_function);
/// Of the driver's functions those that launch kernels or map memory; the others are called by the
/// runtime's, which are recorded themselves.
[[nodiscard]] bool is_shown_driver_function(std::string_view name);

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
