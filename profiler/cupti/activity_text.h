// Names and "args" of GPU activities in a trace. Names are Kineto's to the letter. The members of
// "args" are Kineto's, too, in Kineto's order and without braces; those about the call and the
// operator are added elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/cupti/cupti_abi.h"
#include "profiler/cupti/occupancy.h"

namespace redline::cupti {

/// The kernel's name as in the source code, demangled. "kernel" alone becomes "Kernel", because
/// TensorBoard's plugin fails with a kernel of that name.
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
/// Likewise for functions of the driver.
[[nodiscard]] bool is_driver_noise(std::string_view driver_function);
/// Whether a function of the driver launches kernels or maps memory. The others are left out,
/// because functions of the runtime call them, which are recorded themselves.
[[nodiscard]] bool is_shown_driver_function(std::string_view name);

/// The stream and the call by which a CUDA event was recorded, for the waits on that event.
struct RecordedEvent {
  uint32_t stream = 0;
  uint32_t correlation = 0;
};

/// Without `device` (nullptr), the estimate of its occupancy is left out.
[[nodiscard]] std::string args_of(const KernelRecord& kernel, const DeviceProperties* device);
/// A hash of everything that args_of() takes from a kernel; never 0.
[[nodiscard]] uint64_t args_key(const KernelRecord& kernel);

[[nodiscard]] std::string args_of(const MemcpyRecord& copy);
[[nodiscard]] std::string args_of(const PeerCopyRecord& copy);
[[nodiscard]] std::string args_of(const MemsetRecord& set);
/// `event` is the event that is waited for; nullptr if its record was not seen.
[[nodiscard]] std::string args_of(const SynchronizationRecord& sync, uint32_t device,
                                  const RecordedEvent* event);
[[nodiscard]] std::string args_of(const MemoryRecord& memory);
[[nodiscard]] std::string args_of(const MemoryPoolRecord& pool);
[[nodiscard]] std::string args_of(const UnifiedMemoryRecord& migration);

}  // namespace redline::cupti
