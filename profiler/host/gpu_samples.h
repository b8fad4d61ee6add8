// The GPUs that this process uses, as NVML sees them, as counter tracks in the trace.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "machine/nvml/gpu_reading.h"
#include "profiler/host/host_samples.h"
#include "profiler/source/source.h"

namespace redline::profiler {

/// What `now` tells of GPU `device`, and what happened since `before`. Why it is throttled and
/// ECC errors are told where there are any.
[[nodiscard]] std::vector<HostSample> gpu_samples(int device, const nvml::GpuReading& before,
                                                  const nvml::GpuReading& now);

/// Samples like HostSampler, at the same rate, on a thread of its own: a GPU in trouble can keep
/// NVML waiting for ever, and neither the other tracks nor the job wait for that.
class GpuSampler final : public Source {
 public:
  void enable(const RecorderOptions& options) noexcept override;
  void disable() noexcept override;

 private:
  class Run;

  std::shared_ptr<Run> run_;  ///< the thread's, too
  std::optional<std::thread> thread_;
};

}  // namespace redline::profiler
