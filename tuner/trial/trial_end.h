// What came of a trial when no process of it is left: the result that the study keeps, from all
// that was seen while it ran and from the files that it left.
//
// It is made in one place, after the end, and not piece by piece while the trial runs: any rank's
// out-of-memory is the trial's, but it may be told last, after the ranks that waited for it died.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "profiler/request/record_request.h"
#include "tuner/trial/outcome.h"
#include "tuner/trial/rank_reports.h"
#include "tuner/trial/trial.h"
#include "tuner/trial/trial_resources.h"
#include "tuner/trial/trial_start.h"

namespace redline::tuner {

/// Why the runner no longer watches the trial.
enum class TrialEnd : uint8_t {
  kExited,
  kMeasured,
  kBehind,
  kFailureReported,
  kTimeout,
  kHang,
  kCancelled,
};

/// All that was seen of a trial.
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

/// All of the result but its times.
[[nodiscard]] TrialResult result_of(const EndedTrial& trial);

}  // namespace redline::tuner
