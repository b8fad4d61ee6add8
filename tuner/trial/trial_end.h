// Judges a trial once none of its processes is left: how it ended, and the result that the study
// keeps.
//
// The verdict uses all the evidence, the most reliable first:
//   1. what the hook or the program reported (typed exceptions, in the failing process itself)
//   2. the error files that torchelastic leaves for ranks
//   3. the wait status, and the status of ranks that torchrun prints
//   4. the text on stderr, by patterns of real messages. Never the mere word "error": warnings and
//      log lines have it too.
//
// If any rank ran out of memory, so did the trial, whatever the other ranks then died of.
//
// The verdict is made in one place, after the end, and not piece by piece while the trial runs,
// because the rank that ran out of memory may report after those that died waiting for it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "profiler/request/recording_summary.h"
#include "tuner/trial/rank_reports.h"
#include "tuner/trial/report_channel.h"
#include "tuner/trial/trial.h"
#include "tuner/trial/trial_resources.h"
#include "tuner/trial/trial_start.h"

namespace redline::tuner {

struct Evidence {
  std::vector<FailureReport> failures;
  std::vector<std::string> error_files;  ///< contents of torchelastic's error.json files
  std::optional<int> wait_status;        ///< of the command, if it ended by itself (waitpid 2)
  std::string stderr_text;
  bool oom_killer_ran = false;  ///< the kernel's counter grew during the trial
  bool stepped = false;         ///< at least one training step was seen
};

struct Verdict {
  Outcome outcome = Outcome::kOk;
  int rank = -1;            ///< the rank that failed first; -1: unknown
  std::string message;      ///< one line for the table
  bool is_certain = false;  ///< the failure would come again

  [[nodiscard]] bool operator==(const Verdict&) const = default;
};

/// The verdict on a command that ended by itself. kOk means only that nothing points to a failure.
[[nodiscard]] Verdict judge(const Evidence& evidence);

/// The verdict that a text on stderr gives; nullopt if no pattern matches.
[[nodiscard]] std::optional<Verdict> judge_text(const std::string& text);

/// For messages: the last line of a Python traceback, else the last line that says what failed.
[[nodiscard]] std::string failure_line(const std::string& stderr_text);

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

/// Everything that was seen of a trial.
struct EndedTrial {
  const TrialSpec& spec;
  const TrialPaths& paths;
  TrialEnd end;
  const RankReports& reports;
  const TrialResources& resources;
  const std::optional<launch::RecordNotes>& record_notes;
  std::optional<int> wait_status;  ///< of the command, if it ended by itself
  bool oom_killer_ran = false;
  std::optional<uint64_t> data_limit;   ///< RLIMIT_DATA of its processes
  std::chrono::nanoseconds silence{0};  ///< how long no step had come when the watching ended
  int64_t garbage = 0;                  ///< how many lines were no reports
  std::string disturbance;
  std::string stacks;  ///< Python stacks that show where it hung
};

/// The result without its times.
[[nodiscard]] TrialResult result_of(const EndedTrial& trial);

}  // namespace redline::tuner
