// What a trial takes of the machine, seen from outside its processes.
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
  /// Before the start: what is in use now is not the trial's. `variables` are those of the trial.
  TrialResources(const TrialSpec& spec, const launch::Environment& variables);

  /// `processes` of the trial, as last seen; `stepped`: it trains already.
  void sample(const std::vector<pid_t>& processes, bool stepped);
  /// The same for what costs more to look at.
  void sample_slowly();

  /// A phrase on who else used the processors, or how the rate drifted; empty: nobody.
  [[nodiscard]] std::string disturbance(const std::vector<pid_t>& processes, double drift) const;
  /// Until the GPUs' memory is free again; who still holds some, a sentence a GPU.
  [[nodiscard]] std::vector<std::string> wait_for_gpu_memory(
      const std::atomic<StopRequest>& stop) const;

  /// Of the largest process of the host, 0 where none was seen.
  [[nodiscard]] uint64_t peak_memory() const { return memory_.peak_bytes(); }
  [[nodiscard]] std::optional<HostUse> host_use() const;
  /// Adds what a measured trial took of energy; a search for it needs it.
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
