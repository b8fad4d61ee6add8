// A strategy decides what to measure next.
//
// Other optimizers have a pair of calls, ask and tell. Here it is one: ask gets the whole history,
// so a strategy has no state that could get lost or be out of step (see history.h).
//
// The first trial (the defaults), the retry after a crash and the confirmation of the finalists are
// the same for all strategies and belong to Plan; a strategy only explores.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "tuner/search/history.h"
#include "tuner/space/machine.h"

namespace redline::tuner {

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// The next configuration to measure; nothing when the search has seen enough. `history` holds at
  /// least the first trial (Plan runs it before it asks). Equal histories give equal answers.
  [[nodiscard]] virtual std::optional<Proposal> ask(const History& history) const = 0;
  /// Why ask() has nothing more: a sentence for people.
  [[nodiscard]] virtual std::string why_ended(const History& history) const = 0;
  /// By how much the best that is still possible may be faster than the best so far, as a share;
  /// nothing where the strategy has no model that says it.
  [[nodiscard]] virtual std::optional<double> possible_gain(const History&) const {
    return std::nullopt;
  }
  /// One sentence for --dry-run.
  [[nodiscard]] virtual std::string description() const = 0;
};

/// What a strategy may know besides the history.
struct SearchSettings {
  Machine machine;
  /// Memory of one process (GPU memory, or the data of a process on the CPU); nothing: unknown.
  std::optional<uint64_t> memory_limit_bytes;
  /// The longest that a trial measures, and the steps that it needs: a batch size whose steps take
  /// too long cannot be measured. 0: as long as it takes.
  std::chrono::nanoseconds longest_measurement{0};
  int64_t steps_a_trial = 1;
  uint64_t seed = 0;
};

/// "model", "coordinate", "random" or "grid"; nothing for another name. `space` must outlive the
/// strategy.
[[nodiscard]] std::unique_ptr<Strategy> make_strategy(const std::string& name, const Space& space,
                                                      const SearchSettings& settings);

[[nodiscard]] std::unique_ptr<Strategy> make_model(const Space& space,
                                                   const SearchSettings& settings);
[[nodiscard]] std::unique_ptr<Strategy> make_coordinate(const Space& space);
[[nodiscard]] std::unique_ptr<Strategy> make_random(const Space& space, uint64_t seed);
[[nodiscard]] std::unique_ptr<Strategy> make_grid(const Space& space);

}  // namespace redline::tuner
