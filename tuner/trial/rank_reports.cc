#include "tuner/trial/rank_reports.h"

#include <algorithm>

namespace redline::tuner {

void RankReports::add(const StepReport& report) {
  measurement_.add(report);
  if (report.peak_memory_bytes) {
    device_memory_ = std::max(device_memory_, *report.peak_memory_bytes);
  }
  if (report.epoch_samples) epoch_samples_ = *report.epoch_samples * report.world_size;
  if (report.memory_capacity_bytes) memory_capacity_ = report.memory_capacity_bytes;
}

void RankReports::add(const FailureReport& report) {
  failures_.push_back(report);
  if (!first_failure_) first_failure_ = std::chrono::steady_clock::now();
}

void RankReports::add(const SeenReport& report) {
  if (report.rank == 0) observed_.insert(report.knobs.begin(), report.knobs.end());
}

void RankReports::note(const std::string& text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

}  // namespace redline::tuner
