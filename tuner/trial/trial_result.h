// What came out of a trial: all that a study keeps of it. So the search can be tested and replayed
// without running a process.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/statistics.h"
#include "tuner/space/config.h"

namespace redline::tuner {

/// How a trial ended. Only kGpuOom, kThrash and, under a memory limit, kHostOom say something about
/// which batch sizes fit. A kCrash is tried once more, because it may be chance; a kInvalid is not,
/// because the configuration or the command makes no sense and would fail again.
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
[[nodiscard]] std::string interval_text(const Throughput& rate);  ///< "1,190 to 1,218"

/// What the search expected of a trial before it ran.
struct Expectation {
  Throughput score;  ///< what trials are compared by; low and high hold the middle 80 % of guesses
  std::optional<uint64_t> peak_memory_bytes = {};
};

/// What a search maximises.
enum class Objective : uint8_t {
  kSamplesPerSecond,
  kSamplesPerJoule,
  kStepsPerSecond,  ///< where nothing tells the samples of a step, and no knob changes them
  kMetric,          ///< the figure that the command prints; its unit is not known
};
/// "samples/s", "samples/J", "steps/s" or "by --metric".
[[nodiscard]] const char* unit_of(Objective objective);
/// Of a value of --objective: "energy" or "steps"; any other word means samples a second.
[[nodiscard]] Objective objective_of(std::string_view word);
[[nodiscard]] const char* word_of(Objective objective);  ///< "" for those that have none

/// Memory of the host that all processes of a trial take together, in bytes.
struct HostUse {
  uint64_t memory_bytes = 0;
  uint64_t shm_bytes = 0;  ///< in /dev/shm; it is counted in memory_bytes as well
};

/// The largest value of a knob that a job can take.
struct Limit {
  int64_t most = 0;
  std::string why;
};

struct TrialResult {
  Outcome outcome = Outcome::kCrash;
  std::optional<Throughput> throughput;  ///< for kOk
  /// Of the largest rank; device memory or, without a device, host memory.
  std::optional<uint64_t> peak_memory_bytes;
  /// "GPU 1, the fullest of 2": where that peak was; empty if there is only one
  std::string fullest_gpu;
  /// Memory of the device (cudaMemGetInfo), if the hook saw one. It is the limit if the user sets
  /// none.
  std::optional<uint64_t> memory_capacity_bytes;
  /// What tensors held there between steps, if the hook saw it: weights, gradients and optimizer
  /// states, and what else the script keeps, such as its last outputs.
  std::optional<uint64_t> resting_memory_bytes;
  /// Share of the measured time that the training loop waited for its DataLoader, 0..1.
  std::optional<double> data_wait_share;
  /// Mean length of a sample that is a sequence, in tokens.
  std::optional<double> tokens_per_sample;
  bool infers = false;             ///< a step was a batch of inference
  std::optional<Latency> latency;  ///< how long such a batch took
  /// How many samples all ranks together take in one pass over the training data.
  std::optional<int64_t> epoch_samples;
  /// Energy of all GPUs that the trial may use (NVML), divided by the samples of the measured
  /// steps.
  std::optional<double> joules_per_sample;
  /// What is compared instead of samples/s; only set if the objective is kSamplesPerJoule.
  std::optional<Throughput> samples_per_joule;
  std::optional<HostUse> host_use;  ///< the most that was seen; nullopt for a trial on another host
  bool not_started = false;         ///< because TrialSpec::expected_use did not fit
  int ranks = 0;                    ///< how many ranks reported; 0 without the hook
  int readers = 0;       ///< `ranks`, where those that read the same samples count as one
  Config observed;       ///< the knob values that the job ran with, as the hook saw them
  int failed_rank = -1;  ///< the rank that failed first; -1: unknown
  /// By the name of a knob: why the job has no use for it, as the hook saw it, whether the knob is
  /// set or not.
  std::map<std::string, std::string> unused;
  std::map<std::string, Limit> limits;       ///< by knob
  std::chrono::nanoseconds compile_time{0};  ///< time of torch.compile in the slowest rank
  int64_t step_samples = 0;                  ///< samples of all ranks in a step; 0: unknown
  bool is_certain = false;  ///< the failure comes again whenever the configuration runs
  int64_t steps = 0;        ///< those that the rate covers; all of them if there is no rate
  std::chrono::nanoseconds wall{0};      ///< from the start until all its processes are gone
  std::chrono::nanoseconds start_up{0};  ///< from the start to the first step
  std::optional<Expectation> expected;   ///< nullopt if no model chose the trial
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

}  // namespace redline::tuner
