// What the CUDA driver says about the GPUs of this process, asked once a window.
//
// Asked from the driver rather than from CUPTI's device records, which come only once in the life
// of a process. Nothing is initialised here: before the job has begun to use CUDA there are none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler/cupti/occupancy.h"

namespace redline::cupti {

class DeviceTable {
 public:
  /// Valid as long as the table; nullptr where the driver does not tell.
  [[nodiscard]] const DeviceProperties* find(uint32_t device);

  /// GPUs that this process sees.
  [[nodiscard]] static uint32_t count();

  /// Kineto's "deviceProperties" of all GPUs that this process sees.
  [[nodiscard]] std::string to_json();

 private:
  std::map<uint32_t, DeviceProperties> known_;
};

/// Versions as Kineto writes them, e.g. 13000; none where the library is not in the process.
[[nodiscard]] std::optional<int> cuda_driver_version();
[[nodiscard]] std::optional<int> cuda_runtime_version();

/// The context that a stream of this process belongs to; nullptr where the driver does not tell.
[[nodiscard]] void* context_of_stream(void* stream);

/// Whether this process uses CUDA: it has initialised the driver, or is doing so now. CUPTI must
/// not do it first: a process that only starts others, by fork(), could give them no GPU any more.
[[nodiscard]] bool uses_cuda();

}  // namespace redline::cupti
