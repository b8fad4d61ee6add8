// Watches, from outside its processes, what a trial takes of the machine.
//
// Under Slurm the ranks may run on other machines: then only processes that are visible here count.
#pragma once

#include "machine/launch/environment.h"
#include "tuner/trial/host_memory.h"
#include "tuner/trial/machine_watch.h"
#include "tuner/trial/measurement.h"
#include "tuner/trial/trial_gpus.h"

namespace redline::tuner {

class TrialResources {
 public:
  /// Must be made before the trial starts: what is in use now is not the trial's. `variables` are
  /// the trial's.
  TrialResources(const TrialSpec& spec, const launch::Environment& variables);

  /// `processes`: those of the trial, as last seen; `stepped`: it has made a step.
  void sample(const std::vector<pid_t>& processes, bool stepped);
  /// Samples what costs more to look at: host memory, /dev/shm and the GPUs' power.
  void sample_slowly();

  /// A phrase on who else used the processors; empty if nobody.
  [[nodiscard]] std::string disturbance(const std::vector<pid_t>& processes) const {
    return machine_.disturbance(processes);
  }
  /// GpuMemoryReturn::wait() for the trial's GPUs, at most 30 s.
  [[nodiscard]] std::vector<std::string> wait_for_gpu_memory(
      const std::atomic<StopRequest>& stop) const;

  /// The peak of data of the trial's largest process on this host; 0 if none was seen.
  [[nodiscard]] uint64_t peak_memory() const { return memory_.peak_bytes(); }
  [[nodiscard]] std::optional<HostUse> host_use() const;
  /// Adds the energy that a measured trial took to `result`. If the objective needs it and it is
  /// unknown, the trial counts as a crash.
  void add_energy(const std::optional<Measurement::Window>& window, Objective objective,
                  TrialResult& result) const;

 private:
  [[nodiscard]] std::optional<double> joules_of(const Measurement::Window& window) const;

  MemoryWatch memory_;
  MachineWatch machine_;
  std::optional<TrialGpus> gpus_;
  std::optional<GpuMemoryReturn> gpu_memory_;
  EnergyMeter energy_;
  std::optional<HostWatch> host_;
};

}  // namespace redline::tuner
