// Runs two commands in turns until it is known whether the second is slower.
//
// The order is base, new, new, base, and so on, so that a load of the machine that grows steadily
// meets both alike. After each pair but the first two the runs are compared, and where the question
// is answered no more runs follow. Looking often would raise the chance of an answer by chance; so
// the looks share the 5 % (trace/run/gate.h).
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "trace/report/run_diff.h"

namespace redline::compare {

struct Plan {
  std::string base;  ///< shell commands
  std::string next;
  int64_t pairs = 5;
  trace::GateLimits limits;
  std::string folder;  ///< gets the folders base/ and new/, and a file that one comparison locks
};

/// Called before each run; there may be fewer than `planned`.
using OnProgress = std::function<void(uint64_t done, uint64_t planned)>;

struct Answer {
  /// nullopt if it was interrupted before both commands had run.
  std::optional<trace::RunDiff> diff;
  bool is_interrupted = false;
  std::string no_windows;  ///< why the operators are not known although the speed changed
};

/// The error is a message for the user: a command failed, or made no training steps.
[[nodiscard]] tl::expected<Answer, std::string> compare_in_turns(const Plan& plan,
                                                                 const std::atomic<bool>& stop,
                                                                 const OnProgress& on_progress);

}  // namespace redline::compare
