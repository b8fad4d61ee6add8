// Runs two commands in turns until it is known whether the second is slower.
//
// After each pair but the first two the runs are compared, and where the question
// is answered no more runs follow. Looking often would raise the chance of an answer by chance; so
// the looks share the 5 % (trace/run/gate.h).
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <random>
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

/// Of each two pairs of runs, one begins with the base and one with the new command, so that a load
/// of the machine that grows steadily meets both alike. Chance decides which one, so that load that
/// comes and goes as regularly as the runs, such as another comparison, does so, too.
class TurnOrder {
 public:
  explicit TurnOrder(uint32_t seed) : chance_(seed) {}
  /// Of the next pair.
  [[nodiscard]] bool begins_with_base();

 private:
  std::mt19937 chance_;
  std::optional<bool> second_;  ///< the answer for the second of two pairs, after the first
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
