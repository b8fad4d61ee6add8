#include "tuner/trial/trial_resources.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"

namespace redline::tuner {
namespace {

constexpr std::chrono::seconds kGpuMemoryPatience{30};

}  // namespace

TrialResources::TrialResources(const TrialSpec& spec, const launch::Environment& variables)
    : machine_(spec.share.cores.empty() ? detect_devices().cores : spec.share.cores) {
  if (spec.slurm) return;
  gpus_.emplace(variables.get("CUDA_VISIBLE_DEVICES"));
  gpu_memory_.emplace(*gpus_);
  host_.emplace();
}

void TrialResources::sample(const std::vector<pid_t>& processes, bool stepped) {
  memory_.sample(processes);
  if (host_ && !machine_.begun() && stepped) machine_.begin(processes);
}

void TrialResources::sample_slowly() {
  if (host_) host_->sample();
  const auto power = gpus_ ? gpus_->power() : std::nullopt;
  if (power) energy_.add(monotonic_ns(), *power);
}

std::vector<std::string> TrialResources::wait_for_gpu_memory(
    const std::atomic<StopRequest>& stop) const {
  return gpu_memory_ ? gpu_memory_->wait(kGpuMemoryPatience, stop) : std::vector<std::string>();
}

std::optional<HostUse> TrialResources::host_use() const {
  if (!host_) return std::nullopt;
  HostUse use = host_->most();
  // What exceeds the memory of the trial's own processes was taken by others meanwhile.
  use.memory_bytes = std::min(use.memory_bytes, memory_.resident_bytes() + use.shm_bytes);
  return use;
}

std::optional<double> TrialResources::joules_of(const Measurement::Window& window) const {
  double sum = 0;
  for (const Measurement::Window::Span& span : window.spans) {
    const auto joules = energy_.between(span.begin_ns, span.end_ns);
    if (!joules) return std::nullopt;
    sum += *joules;
  }
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

void TrialResources::add_energy(const std::optional<Measurement::Window>& window,
                                Objective objective, TrialResult& result) const {
  const auto joules = window ? joules_of(*window) : std::nullopt;
  if (joules && objective != Objective::kStepsPerSecond)
    result.joules_per_sample = *joules / window->samples;
  if (objective != Objective::kSamplesPerJoule) return;
  if (result.joules_per_sample) {
    result.samples_per_joule =
        samples_per_joule(*result.joules_per_sample, *result.throughput, window->seconds());
    return;
  }
  result.throughput.reset();
  result.outcome = Outcome::kCrash;  // a crash is run once more
  result.message = "NVML gave no energy for the measured steps";
}

}  // namespace redline::tuner
