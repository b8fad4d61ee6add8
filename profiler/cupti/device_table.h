// The properties of this process's GPUs, from the CUDA driver, asked once in each window.
//
// CUPTI has device records, too, but they come only once in the life of a process. Nothing is
// initialised here, so there are no GPUs before the job has begun to use CUDA.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "profiler/cupti/occupancy.h"

namespace redline::cupti {

class DeviceTable {
 public:
  /// nullptr if the driver does not tell. The pointer is valid as long as the table exists.
  [[nodiscard]] const DeviceProperties* find(uint32_t device);

  /// How many GPUs this process sees.
  [[nodiscard]] static uint32_t count();

  /// Kineto's "deviceProperties" of all GPUs that this process sees.
  [[nodiscard]] std::string to_json();

 private:
  std::map<uint32_t, DeviceProperties> known_;
};

/// Versions as Kineto writes them, such as 13000; nullopt if the process has not loaded the
/// library.
[[nodiscard]] std::optional<int> cuda_driver_version();
[[nodiscard]] std::optional<int> cuda_runtime_version();

/// The context that a stream of this process belongs to; nullptr if the driver does not tell.
[[nodiscard]] void* context_of_stream(void* stream);

/// Whether this process uses CUDA: it has initialised the driver, or is doing so now. CUPTI must
/// not initialise it first: after that, children that the process forks could not use a GPU.
[[nodiscard]] bool uses_cuda();

}  // namespace redline::cupti
