// A trial: one run of the training command with one configuration.
//
// Each trial is a process tree of its own, started anew. Changing the knobs of one long job was
// rejected: a rank that catches its own out-of-memory error leaves the others waiting in a
// collective, it never frees all that it allocated, and the next configuration would be measured in
// the memory that is left.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/space/config.h"
#include "tuner/space/machine.h"
#include "tuner/trial/trial_result.h"

namespace redline::tuner {

struct TrialSpec {
  int64_t id = 0;
  Config config;
  std::vector<std::string> command;  ///< argv with {knob} placeholders still in it
  /// This trial's own, with its stdout, stderr and TMPDIR; the runner makes it.
  std::string directory;
  /// For a process's data on CPU (RLIMIT_DATA or cgroup).
  std::optional<uint64_t> memory_limit_bytes;
  std::chrono::nanoseconds timeout = std::chrono::seconds(120);
  /// The time within which the start-up hook must report; `timeout` counts from its report on. 0:
  /// `timeout` counts from the start.
  std::chrono::nanoseconds start_timeout{0};
  /// The user gave `timeout`: until then a pause between steps is no hang, however long it is.
  bool may_pause = false;
  std::chrono::nanoseconds compile_timeout = std::chrono::minutes(10);  ///< added to `timeout`
  /// After warm-up; then the trial ends.
  std::chrono::nanoseconds measure_for = std::chrono::seconds(10);
  int64_t min_steps = 10;  ///< measured steps that a result needs, even past measure_for
  /// The lower end of the best configuration's interval, in samples/s. A trial that is surely
  /// slower ends early.
  std::optional<double> rate_to_beat;
  /// Whether the command infers (true) or trains; nullopt: no trial has shown it yet.
  std::optional<bool> infers;
  std::optional<int64_t> global_batch;  ///< samples of all ranks that each step must take
  std::string metric_regex;             ///< --metric; empty: the hook reports
  std::string step_marker;              ///< --step-marker; empty: the hook sees the steps
  std::string memory_metric_regex;      ///< --memory-metric
  Objective objective = Objective::kSamplesPerSecond;
  /// Predicted from other trials. If the host surely has less free, the trial is not started, and
  /// its result says so.
  std::optional<HostUse> expected_use;
  Share share;         ///< the part of the machine that it runs in
  bool slurm = false;  ///< `command` is what under_srun() made
  /// Folder for a trace of each rank; the trial ends when the traces are written. Empty: none.
  std::string record_to;
};

/// How the user asked the running trial to end: in order (first Ctrl-C) or at once (second).
/// Neither leaves a process behind; the result is kCancelled.
enum class StopRequest : uint8_t { kNone, kEnd, kKill };

/// The state of a running trial for the live line, sent at most a few times a second.
struct TrialProgress {
  std::string phase;  ///< "starting", "warming up", "measuring", "ending"
  int64_t steps = 0;
  std::optional<double> samples_per_s;  ///< the estimate so far
};

/// How a study runs a trial: the product does it with run_trial, tests with functions of their own.
using TrialRunner =
    std::function<TrialResult(const TrialSpec& spec, const std::atomic<StopRequest>& stop,
                              const std::function<void(const TrialProgress&)>& on_progress)>;

/// Runs `spec.command` until enough is measured or something ends it, then waits until none of its
/// processes is left. Set `stop` from a signal handler or another thread to end the trial
/// (kCancelled). Never throws; a trial that cannot even start is a result too (kInvalid with the
/// reason in `message`).
///
/// The calling process becomes a child subreaper (prctl 2) and stays one. A SIGKILL of it ends the
/// trial's processes as well: a guard process watches.
[[nodiscard]] TrialResult run_trial(const TrialSpec& spec, const std::atomic<StopRequest>& stop,
                                    const std::function<void(const TrialProgress&)>& on_progress);

}  // namespace redline::tuner
