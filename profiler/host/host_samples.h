// The machine beside the training, as counter tracks in the trace: how busy its cores are, what the
// process and its DataLoader workers take, and the GPUs that it uses, as NVML sees them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "machine/host_reading.h"
#include "profiler/source/counters.h"
#include "profiler/source/source.h"

namespace redline::profiler {

/// What `now` tells, and what happened since `before`: rates and shares of the time in between.
[[nodiscard]] std::vector<CounterSample> host_samples(const machine::HostReading& before,
                                                      const machine::HostReading& now);
/// The same of each core.
[[nodiscard]] std::vector<CounterSample> core_samples(const machine::HostReading& before,
                                                      const machine::HostReading& now);

/// Samples from prepare to stop, RecorderOptions::host_samples_hz times a second, on a thread of
/// its own: training threads pay nothing.
class HostSampler final : public Source {
 public:
  void enable(const RecorderOptions& options) noexcept override;
  void disable() noexcept override;

 private:
  void run(int32_t hz);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_over_ = false;  // under mutex_
  std::optional<std::thread> thread_;
};

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
