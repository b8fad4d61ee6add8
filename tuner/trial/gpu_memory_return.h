// After a trial: GPU memory is back where it was before it, or somebody is named who holds it.
//
// A driver gives memory back some time after its last process is gone, and a process that hid from
// the runner may hold it for ever; the next trial would run out of memory that is not its own.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "tuner/trial/trial.h"
#include "tuner/trial/trial_gpus.h"

namespace redline::tuner {

class GpuMemoryReturn {
 public:
  /// The baseline is read now. `gpus` must outlive this.
  explicit GpuMemoryReturn(const TrialGpus& gpus) : gpus_(gpus), before_(gpus.memory_used()) {}

  /// Waits at most `patience`, or until the user wants to go at once. What is still held, a
  /// sentence a GPU; empty: nothing.
  [[nodiscard]] std::vector<std::string> wait(std::chrono::nanoseconds patience,
                                              const std::atomic<StopRequest>& stop) const;

 private:
  /// In bytes beyond the baseline, a GPU each; 0 where NVML did not tell it then or now.
  [[nodiscard]] std::vector<uint64_t> kept() const;

  const TrialGpus& gpus_;
  std::vector<std::optional<uint64_t>> before_;
};

}  // namespace redline::tuner
