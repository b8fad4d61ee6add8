// Samples the machine during training, for counter tracks in the trace: how busy the cores are,
// what the process and its DataLoader workers use, and the state of its GPUs, as NVML tells it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/quiet_thread.h"
#include "machine/host_reading.h"
#include "profiler/source/counters.h"
#include "profiler/source/source.h"

namespace redline::profiler {

/// Samples of the machine and the process: sizes of `now`, and rates and shares of the time since
/// `before`.
[[nodiscard]] std::vector<CounterSample> host_samples(const machine::HostReading& before,
                                                      const machine::HostReading& now);
/// How busy each core was since `before`.
[[nodiscard]] std::vector<CounterSample> core_samples(const machine::HostReading& before,
                                                      const machine::HostReading& now);

/// Samples from prepare to stop, RecorderOptions::host_samples_hz times a second. It has a thread,
/// so that training threads need no time for it.
class HostSampler final : public Source {
 public:
  void enable(const RecorderOptions& options) noexcept override;
  void disable() noexcept override;

 private:
  void run(int32_t hz);

  PausingThread thread_;
};

/// Samples GPUs at the same rate as HostSampler, on another thread: a broken GPU can keep NVML
/// waiting for ever, and neither the other tracks nor the job must wait for that.
class GpuSampler final : public Source {
 public:
  void enable(const RecorderOptions& options) noexcept override;
  void disable() noexcept override;
  /// Says that disable_until() comes soon, so that NVML answers meanwhile.
  void ask_to_stop() noexcept;
  /// Waits for NVML no longer than until then.
  void disable_until(std::chrono::steady_clock::time_point until) noexcept;

 private:
  class Run;

  std::shared_ptr<Run> run_;  ///< the thread shares it, and may outlive us
  std::optional<std::thread> thread_;
};

}  // namespace redline::profiler
