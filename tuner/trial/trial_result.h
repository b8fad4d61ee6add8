// What is kept of a trial when no process of it is left.
#pragma once

#include <optional>
#include <string>

#include "profiler/request/record_request.h"
#include "tuner/trial/rank_reports.h"
#include "tuner/trial/trial_resources.h"
#include "tuner/trial/trial_start.h"
#include "tuner/trial/trial_verdict.h"

namespace redline::tuner {

/// All that was seen of it.
struct EndedTrial {
  const TrialSpec& spec;
  const TrialPaths& paths;
  TrialEnd end;
  const RankReports& reports;
  const TrialResources& resources;
  const std::optional<launch::RecordNotes>& record_notes;
  std::optional<int> wait_status;  ///< of the command, where it ended by itself
  bool oom_killer_ran = false;
  std::optional<uint64_t> data_limit;   ///< RLIMIT_DATA of its processes
  std::chrono::nanoseconds silence{0};  ///< since the last step when the watching ended
  int64_t garbage = 0;                  ///< lines that were no reports
  std::string disturbance;
  std::string stacks;  ///< where it hung
};

/// All but the times.
[[nodiscard]] TrialResult result_of(const EndedTrial& trial);

}  // namespace redline::tuner
