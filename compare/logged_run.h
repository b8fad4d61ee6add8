// Runs a command once, with a step log or a trace of each rank, as `redline run --log` and
// `redline record` do, but out of sight: its output goes to a file, and it gets a session of its
// own, so that Ctrl-C reaches this program alone and the command is ended in order.
#pragma once

#include <atomic>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::compare {

enum class RunKind : uint8_t { kLogged, kRecorded };

struct CommandRun {
  std::vector<std::string> command;
  std::string folder;  ///< of the step log or the trace
  std::string output;  ///< file for what the command prints
  RunKind kind = RunKind::kLogged;
};

struct RunEnd {
  bool is_stopped = false;         ///< because `stop` was set
  int status = 0;                  ///< exit status, or 128 + the signal
  std::vector<std::string> files;  ///< the new step logs or traces
};

/// Returns when none of the command's processes is left. The error says why it could not be
/// started.
[[nodiscard]] tl::expected<RunEnd, std::string> run_once(const CommandRun& run,
                                                         const std::atomic<bool>& stop);

}  // namespace redline::compare
