// A trial: one run of the training command under one configuration, and what came of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/space/config.h"
#include "tuner/trial/share.h"

namespace redline::tuner {

/// How a trial ended. Only kGpuOom and kThrash (and kHostOom under a memory limit) shape the
/// frontier of batch sizes; kCrash is retried once, kInvalid never.
enum class Outcome : uint8_t {
  kOk,
  kGpuOom,
  kHostOom,
  kShmFull,
  kThrash,
  kInvalid,
  kHang,
  kCrash,
  kNanLoss,
  kCancelled,
};
[[nodiscard]] const char* to_string(Outcome outcome);
[[nodiscard]] std::optional<Outcome> outcome_from_string(const std::string& text);

/// End-to-end samples per second over all ranks after warm-up, with its 95 % interval.
struct Throughput {
  double samples_per_s = 0;
  double low = 0;
  double high = 0;
};

/// What a search makes as large as it can.
enum class Objective : uint8_t {
  kSamplesPerSecond,
  kSamplesPerJoule,
  kMetric,  ///< what the command says itself: its unit is not known
};
/// "samples/s", "samples/J" or "by --metric".
[[nodiscard]] const char* unit_of(Objective objective);

/// Of the host, by all processes of a trial.
struct HostUse {
  uint64_t memory_bytes = 0;
  uint64_t shm_bytes = 0;  ///< /dev/shm; a part of the memory, too
};

struct TrialSpec {
  int64_t id = 0;
  Config config;
  std::vector<std::string> command;  ///< argv with {knob} placeholders still in it
  std::string directory;  ///< of this trial: its stdout, stderr, TMPDIR; made by the runner
  std::optional<uint64_t> memory_limit_bytes;  ///< a process's data on CPU (RLIMIT_DATA or cgroup)
  std::chrono::nanoseconds timeout = std::chrono::seconds(120);
  std::chrono::nanoseconds measure_for = std::chrono::seconds(10);  ///< after warm-up, then stop
  int64_t min_steps = 10;  ///< measured steps that a result needs, even past measure_for
  /// Samples/s of the incumbent at least: a trial that is surely slower ends early.
  std::optional<double> rate_to_beat;
  std::optional<int64_t> global_batch;  ///< samples of all ranks that each step must take
  std::string metric_regex;             ///< --metric; empty: the hook reports
  std::string memory_metric_regex;      ///< --memory-metric
  Objective objective = Objective::kSamplesPerSecond;
  std::optional<HostUse> expected_use;  ///< by what other trials took: does it fit, it is started
  Share share;                          ///< of the machine, to run in
  bool slurm = false;                   ///< the command is under_srun()
  std::string record_to;  ///< folder for a trace of each rank, with which it ends; empty: none
};

struct TrialResult {
  Outcome outcome = Outcome::kCrash;
  std::optional<Throughput> throughput;       ///< for kOk
  std::optional<uint64_t> peak_memory_bytes;  ///< largest rank; device memory, else its host memory
  /// Of the device (cudaMemGetInfo), where the hook saw one: the limit where the user sets none.
  std::optional<uint64_t> memory_capacity_bytes;
  /// Share of the measured time that the training loop waited for its DataLoader, 0..1.
  std::optional<double> data_wait_share;
  /// What a pass over the training data takes out of its loader, all ranks together.
  std::optional<int64_t> epoch_samples;
  /// By the energy of all GPUs that the trial may use, over the measured steps (NVML).
  std::optional<double> joules_per_sample;
  /// What was searched for instead of samples/s, its interval too: with that objective alone.
  std::optional<Throughput> samples_per_joule;
  std::optional<HostUse> host_use;  ///< at most, where autotune saw the host
  bool not_started = false;         ///< it was expected not to fit
  int ranks = 0;                    ///< that reported, 0 without the hook
  Config observed;       ///< knob values the job ran with, as the hook saw them (the defaults)
  int failed_rank = -1;  ///< who reported the failure, -1 unknown
  int64_t steps = 0;
  std::chrono::nanoseconds wall{0};      ///< start to reaped
  std::chrono::nanoseconds start_up{0};  ///< launch to first step
  int neighbours = 0;                    ///< most trials that ran beside it at any time
  std::string message;                   ///< one line for the table, e.g. "out of memory (rank 1)"
  std::string disturbance;               ///< what made it look slower than it is; empty: nothing
  std::string stderr_tail;               ///< the script's last lines, for failed trials
  std::vector<std::string> notes;        ///< "amp could not be applied: no module call seen"
};

/// What the user asked of the trial that runs: to end in order (first Ctrl-C), or at once (second).
/// Both leave no process behind; the result is kCancelled.
enum class StopRequest : uint8_t { kNone, kEnd, kKill };

/// For the live line, at most a few times a second.
struct TrialProgress {
  std::string phase;  ///< "starting", "warming up", "measuring", "ending"
  int64_t steps = 0;
  std::optional<double> samples_per_s;  ///< the estimate so far
};

/// How the controller runs a trial: the product's is run_trial of runner.h, tests bring their own.
using TrialRunner =
    std::function<TrialResult(const TrialSpec& spec, const std::atomic<StopRequest>& stop,
                              const std::function<void(const TrialProgress&)>& on_progress)>;

}  // namespace redline::tuner
