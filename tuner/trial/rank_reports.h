// Collects what all ranks of a trial have reported so far.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/trial/measurement.h"
#include "tuner/trial/report_channel.h"

namespace redline::tuner {

class RankReports {
 public:
  explicit RankReports(const Measurement::Plan& plan) : measurement_(plan) {}

  void take(const Report& report) {
    std::visit([this](const auto& value) { add(value); }, report);
  }
  /// Keeps something to tell the user about this trial; the same text is kept only once.
  void note(const std::string& text);

  [[nodiscard]] const Measurement& measurement() const { return measurement_; }
  [[nodiscard]] const std::vector<FailureReport>& failures() const { return failures_; }
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> first_failure() const {
    return first_failure_;
  }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const Config& observed() const { return observed_; }  ///< knobs as rank 0 saw them
  /// The largest peak of any rank, in bytes; 0: no device.
  [[nodiscard]] uint64_t device_memory() const { return device_memory_; }
  /// StepReport::resting_memory_bytes where device_memory() is.
  [[nodiscard]] std::optional<uint64_t> resting_memory() const {
    return fullest_.resting_memory_bytes;
  }
  /// The GPU or rank that device_memory() belongs to: "GPU 1, the fullest of 2". Empty if there is
  /// only one.
  [[nodiscard]] std::string fullest_gpu() const;
  [[nodiscard]] std::optional<uint64_t> memory_capacity() const { return memory_capacity_; }
  [[nodiscard]] std::optional<int64_t> epoch_samples() const;  ///< of all ranks
  /// By the name of a knob: why the job has no use for it.
  [[nodiscard]] const std::map<std::string, std::string>& unused() const { return unused_; }
  [[nodiscard]] const std::map<std::string, Limit>& limits() const { return limits_; }
  /// When the last process that has a start-up hook was ready.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> begun() const {
    return begun_;
  }
  [[nodiscard]] bool compiling() const;                         ///< whether some rank is compiling
  [[nodiscard]] std::chrono::nanoseconds compile_time() const;  ///< of the slowest rank
  /// When the latest step came or the latest compilation began or ended (CLOCK_MONOTONIC); 0 before
  /// the first step.
  [[nodiscard]] int64_t last_sign_ns() const;
  /// "120 forward passes with gradients, no backward passes"; empty if no rank said.
  [[nodiscard]] std::string activity() const;
  /// Optimizer steps, not counted, that went on with batches which the script had taken before.
  [[nodiscard]] int64_t steps_without_batch() const {
    return activity_ ? activity_->without_batch : 0;
  }

 private:
  void add(const StepReport& report);
  void add(const FailureReport& report);
  void add(const SeenReport& report);
  void add(const NoteReport& report) { note(report.text); }
  void add(const UnusedReport& report);
  void add(const CompileReport& report);
  void add(const BeginReport&) {
    if (measurement_.latest_ns() == 0) begun_ = std::chrono::steady_clock::now();
  }
  void add(const ActivityReport& report) { activity_ = report; }

  Measurement measurement_;
  std::vector<FailureReport> failures_;
  std::optional<std::chrono::steady_clock::time_point> first_failure_;
  std::vector<std::string> notes_;
  Config observed_;
  uint64_t device_memory_ = 0;
  StepReport fullest_;  ///< the report that device_memory_ is from
  std::optional<uint64_t> memory_capacity_;
  std::optional<int64_t> epoch_samples_of_rank_;
  std::map<std::string, std::string> unused_;
  std::map<std::string, Limit> limits_;
  std::optional<std::chrono::steady_clock::time_point> begun_;
  struct Compilation {
    CompileReport last;
    std::chrono::steady_clock::time_point since;  ///< when it last began or ended
  };
  std::map<int, Compilation> compilations_;  // by rank
  std::optional<ActivityReport> activity_;
};

}  // namespace redline::tuner
