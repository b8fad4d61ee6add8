// Says how a trial ended, from all the evidence there is, the most reliable first:
//   1. what the hook or the program reported (typed exceptions, in the failing process itself)
//   2. the error files that torchelastic leaves for ranks
//   3. the wait status, and the status of ranks that torchrun prints
//   4. the text on stderr, by patterns of real messages. Never the mere word "error": warnings and
//      log lines carry it too.
// Any rank's out-of-memory is the trial's, whatever the other ranks then died of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/trial/report_channel.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

struct Evidence {
  std::vector<FailureReport> failures;
  std::vector<std::string> error_files;  ///< contents of torchelastic's error.json files
  std::optional<int> wait_status;        ///< of the command, where it ended by itself (waitpid 2)
  std::string stderr_text;
  bool oom_killer_ran = false;  ///< the kernel's counter grew meanwhile
  bool stepped = false;         ///< at least one training step was seen
};

struct Verdict {
  Outcome outcome = Outcome::kOk;
  int rank = -1;        ///< who failed first, -1 unknown
  std::string message;  ///< one line for the table

  [[nodiscard]] bool operator==(const Verdict&) const = default;
};

/// The verdict on a command that ended by itself. kOk means only that nothing points to a failure.
[[nodiscard]] Verdict judge(const Evidence& evidence);

/// What a text on stderr says; nothing where no pattern matches.
[[nodiscard]] std::optional<Verdict> judge_text(const std::string& text);

/// For messages: the last line of a Python traceback, else the last line that says what failed.
[[nodiscard]] std::string failure_line(const std::string& stderr_text);

}  // namespace redline::tuner
