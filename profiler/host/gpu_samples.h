// The GPUs that this process uses, as NVML sees them, as counter tracks in the trace.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "profiler/source/source.h"

namespace redline::profiler {

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
