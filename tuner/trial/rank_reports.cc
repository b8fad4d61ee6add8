#include "tuner/trial/rank_reports.h"

#include <fmt/format.h>

#include <algorithm>

namespace redline::tuner {

void RankReports::add(const StepReport& report) {
  measurement_.add(report);
  const uint64_t peak = report.peak_memory_bytes.value_or(0);
  const bool is_fullest = report.rank == fullest_.rank && report.device == fullest_.device;
  if (peak > device_memory_ || (peak > 0 && peak == device_memory_ && is_fullest)) {
    device_memory_ = peak;
    fullest_ = report;  // its later reports, too, because what it holds between steps may sink
  }
  if (report.epoch_samples) epoch_samples_of_rank_ = report.epoch_samples;
  if (report.memory_capacity_bytes) memory_capacity_ = report.memory_capacity_bytes;
}

std::optional<int64_t> RankReports::epoch_samples() const {
  if (!epoch_samples_of_rank_) return std::nullopt;
  return *epoch_samples_of_rank_ * measurement_.readers();
}

std::string RankReports::fullest_gpu() const {
  if (device_memory_ == 0 || (fullest_.devices <= 1 && fullest_.world_size <= 1)) return "";
  if (fullest_.world_size <= 1) {
    return fmt::format("GPU {}, the fullest of {}", fullest_.device, fullest_.devices);
  }
  const std::string own = fullest_.devices > 1 ? fmt::format("GPU {} of ", fullest_.device) : "";
  return fmt::format("{}rank {}, the fullest", own, fullest_.rank);
}

void RankReports::add(const FailureReport& report) {
  failures_.push_back(report);
  if (!first_failure_) first_failure_ = std::chrono::steady_clock::now();
}

void RankReports::add(const SeenReport& report) {
  if (report.rank != 0) return;
  observed_.insert(report.knobs.begin(), report.knobs.end());
  if (const auto size = number_of(observed_, "batch_size")) measurement_.set_batch_size(*size);
}

void RankReports::add(const UnusedReport& report) {
  if (report.rank != 0) return;
  for (const std::string& knob : report.knobs) {
    if (report.above) {
      limits_.try_emplace(knob, Limit{.most = *report.above, .why = report.why});
    } else {
      unused_.emplace(knob, report.why);
    }
  }
}

void RankReports::add(const CompileReport& report) {
  compilations_[report.rank] = {report, std::chrono::steady_clock::now()};
}

bool RankReports::compiling() const {
  return std::ranges::any_of(compilations_,
                             [](const auto& entry) { return entry.second.last.running; });
}

std::chrono::nanoseconds RankReports::compile_time() const {
  std::chrono::nanoseconds longest{0};
  for (const auto& [rank, compilation] : compilations_) {
    std::chrono::nanoseconds time(compilation.last.total_ns);
    if (compilation.last.running) time += std::chrono::steady_clock::now() - compilation.since;
    longest = std::max(longest, time);
  }
  return longest;
}

int64_t RankReports::last_sign_ns() const {
  int64_t last = measurement_.latest_ns();
  if (last == 0) return 0;
  for (const auto& [rank, compilation] : compilations_) {
    last = std::max(last, int64_t{compilation.since.time_since_epoch().count()});
  }
  return last;
}

std::string RankReports::activity() const {
  if (!activity_) return "";
  const auto passes = [](int64_t count, const char* kind) {
    return fmt::format("{} {} pass{}", count == 0 ? "no" : std::to_string(count), kind,
                       count == 1 ? "" : "es");
  };
  return passes(activity_->forwards, "forward") + " with gradients, " +
         passes(activity_->backwards, "backward");
}

void RankReports::note(const std::string& text) {
  if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(text);
}

}  // namespace redline::tuner
