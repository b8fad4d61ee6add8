// What a trial's ranks have said so far, all of them together.
#pragma once

#include <chrono>
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
  /// Something to tell the user about this trial; the same but once.
  void note(const std::string& text);

  [[nodiscard]] const Measurement& measurement() const { return measurement_; }
  [[nodiscard]] const std::vector<FailureReport>& failures() const { return failures_; }
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> first_failure() const {
    return first_failure_;
  }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const Config& observed() const { return observed_; }  ///< knobs as rank 0 saw them
  [[nodiscard]] uint64_t device_memory() const { return device_memory_; }  ///< peak, 0: no device
  [[nodiscard]] std::optional<uint64_t> memory_capacity() const { return memory_capacity_; }
  [[nodiscard]] std::optional<int64_t> epoch_samples() const { return epoch_samples_; }

 private:
  void add(const StepReport& report);
  void add(const FailureReport& report);
  void add(const SeenReport& report);
  void add(const NoteReport& report) { note(report.text); }

  Measurement measurement_;
  std::vector<FailureReport> failures_;
  std::optional<std::chrono::steady_clock::time_point> first_failure_;
  std::vector<std::string> notes_;
  Config observed_;
  uint64_t device_memory_ = 0;
  std::optional<uint64_t> memory_capacity_;
  std::optional<int64_t> epoch_samples_;
};

}  // namespace redline::tuner
