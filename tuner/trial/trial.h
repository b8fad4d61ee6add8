// A trial: one run of the training command with one configuration, what it is told (TrialSpec) and
// what came of it (TrialResult).
//
// Each trial is a process tree of its own, started anew. Changing the knobs of one long job was
// rejected: a rank that catches its own out-of-memory leaves the others waiting in a collective,
// what it allocated is never all given back, and the next configuration would be measured in what
// is left.
//
// Nothing here depends on how the trial is run. Everything that a study keeps of a trial is in
// TrialResult, so the search can be tested and replayed without a process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "tuner/space/config.h"
#include "tuner/space/machine.h"

namespace redline::tuner {

/// How a trial ended. Only kGpuOom, kThrash and, under a memory limit, kHostOom say something about
/// which batch sizes fit. A kCrash is tried once more, because it may be chance; a kInvalid is not:
/// the configuration or the command makes no sense, and would again.
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

/// Memory of the host that all processes of a trial take together.
struct HostUse {
  uint64_t memory_bytes = 0;
  uint64_t shm_bytes = 0;  ///< in /dev/shm; it is counted in memory_bytes as well
};

/// The largest value of a knob that a job can take.
struct Limit {
  int64_t most = 0;
  std::string why;
};

struct TrialSpec {
  int64_t id = 0;
  Config config;
  std::vector<std::string> command;  ///< argv with {knob} placeholders still in it
  std::string directory;  ///< of this trial: its stdout, stderr, TMPDIR; made by the runner
  std::optional<uint64_t> memory_limit_bytes;  ///< a process's data on CPU (RLIMIT_DATA or cgroup)
  std::chrono::nanoseconds timeout = std::chrono::seconds(120);
  /// The time in which the start-up hook must report; the timeout counts from then on. 0: the
  /// timeout counts from the start.
  std::chrono::nanoseconds start_timeout{0};
  std::chrono::nanoseconds compile_timeout = std::chrono::minutes(10);  ///< beyond the timeout
  std::chrono::nanoseconds measure_for = std::chrono::seconds(10);  ///< after warm-up, then stop
  int64_t min_steps = 10;  ///< measured steps that a result needs, even past measure_for
  /// The lower end of the incumbent's interval, samples/s: a trial that is surely slower ends
  /// early.
  std::optional<double> rate_to_beat;
  std::optional<bool>
      infers;  ///< the command infers, or trains; nothing: no trial has shown it yet
  std::optional<int64_t> global_batch;  ///< samples of all ranks that each step must take
  std::string metric_regex;             ///< --metric; empty: the hook reports
  std::string step_marker;              ///< --step-marker; empty: the hook sees the steps
  std::string memory_metric_regex;      ///< --memory-metric
  Objective objective = Objective::kSamplesPerSecond;
  /// Predicted from other trials. Where the host has surely not so much free, the trial is not
  /// started, and its result says so.
  std::optional<HostUse> expected_use;
  Share share;         ///< the part of the machine that it runs in
  bool slurm = false;  ///< the command is what under_srun() made
  /// Folder for a trace of each rank; the trial ends when the traces are written. Empty: none.
  std::string record_to;
};

struct TrialResult {
  Outcome outcome = Outcome::kCrash;
  std::optional<Throughput> throughput;       ///< for kOk
  std::optional<uint64_t> peak_memory_bytes;  ///< largest rank; device memory, else its host memory
  std::string fullest_gpu;  ///< "GPU 1, the fullest of 2": where that was; empty: no choice
  /// Of the device (cudaMemGetInfo), where the hook saw one: the limit where the user sets none.
  std::optional<uint64_t> memory_capacity_bytes;
  /// Share of the measured time that the training loop waited for its DataLoader, 0..1.
  std::optional<double> data_wait_share;
  /// Where a sample is a sequence: how long on average.
  std::optional<double> tokens_per_sample;
  bool infers = false;             ///< a step was a batch of inference
  std::optional<Latency> latency;  ///< of such a batch
  /// How many samples all ranks together take in one pass over the training data.
  std::optional<int64_t> epoch_samples;
  /// Energy of all GPUs that the trial may use (NVML) over the samples of the measured steps.
  std::optional<double> joules_per_sample;
  /// What is compared instead of samples/s; set only where the objective is kSamplesPerJoule.
  std::optional<Throughput> samples_per_joule;
  std::optional<HostUse> host_use;  ///< the most that was seen; nothing on another host
  bool not_started = false;         ///< because TrialSpec::expected_use did not fit
  int ranks = 0;                    ///< how many reported; 0 without the hook
  Config observed;                  ///< the knob values that the job ran with, as the hook saw them
  int failed_rank = -1;             ///< who failed first; -1: unknown
  /// Why the job has nothing for a knob, by name: as the hook saw it, of knobs set or not.
  std::map<std::string, std::string> unused;
  std::map<std::string, Limit> limits;       ///< by knob
  std::chrono::nanoseconds compile_time{0};  ///< of torch.compile, the slowest rank's
  int64_t step_samples = 0;                  ///< of all ranks in a step, 0 unknown
  bool is_certain = false;  ///< a failure that comes again whenever the configuration runs
  int64_t steps = 0;
  std::chrono::nanoseconds wall{0};      ///< start to reaped
  std::chrono::nanoseconds start_up{0};  ///< launch to first step
  int neighbours = 0;                    ///< the most trials that ran beside it at any time
  std::string message;                   ///< one line for the table, e.g. "out of memory (rank 1)"
  std::string disturbance;               ///< what made it look slower than it is; empty: nothing
  std::string stderr_tail;               ///< the script's last lines, for failed trials
  std::vector<std::string> notes;        ///< "amp could not be applied: no module call seen"

  [[nodiscard]] std::optional<double> tokens_per_s() const {
    if (!throughput || !tokens_per_sample) return std::nullopt;
    return throughput->samples_per_s * *tokens_per_sample;
  }
};

/// What the user asked of the running trial: to end in order (first Ctrl-C) or at once (second).
/// Neither leaves a process behind; the result is kCancelled.
enum class StopRequest : uint8_t { kNone, kEnd, kKill };

/// For the live line, at most a few times a second.
struct TrialProgress {
  std::string phase;  ///< "starting", "warming up", "measuring", "ending"
  int64_t steps = 0;
  std::optional<double> samples_per_s;  ///< the estimate so far
};

/// How a study runs a trial: the product does it with run_trial, tests with functions of their own.
using TrialRunner =
    std::function<TrialResult(const TrialSpec& spec, const std::atomic<StopRequest>& stop,
                              const std::function<void(const TrialProgress&)>& on_progress)>;

/// Runs `spec.command` until enough is measured or something ends it, and waits until no process of
/// it is left, whatever it did. Set `stop` from a signal handler or another thread to end the trial
/// (kCancelled). Never throws; a trial that cannot even start is a result too (kInvalid with the
/// reason in `message`).
///
/// The calling process becomes a child subreaper (prctl 2) and stays one. A SIGKILL of it ends the
/// trial's processes as well: a guard process watches.
[[nodiscard]] TrialResult run_trial(const TrialSpec& spec, const std::atomic<StopRequest>& stop,
                                    const std::function<void(const TrialProgress&)>& on_progress);

}  // namespace redline::tuner
