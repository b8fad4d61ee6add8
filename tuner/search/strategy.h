// A strategy decides what to measure next.
//
// Other optimizers have a pair of calls, ask and tell. Here there is only ask, which gets the whole
// history, so a strategy has no state that could get lost or be out of step (see history.h).
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
  /// The next configuration to measure; nullopt when the search has seen enough. `history` holds at
  /// least the first trial (Plan runs it before it asks). Equal histories give equal answers.
  [[nodiscard]] virtual std::optional<Proposal> ask(const History& history) const = 0;
  /// A sentence for people that says why ask() has nothing more.
  [[nodiscard]] virtual std::string why_ended(const History& history) const = 0;
  /// The share by which the best that is still possible may be faster than the best so far; nullopt
  /// if the strategy has no model that tells it.
  [[nodiscard]] virtual std::optional<double> possible_gain(const History&) const {
    return std::nullopt;
  }
  /// One sentence for --dry-run.
  [[nodiscard]] virtual std::string description() const = 0;
};

/// What a strategy may know besides the history.
struct SearchSettings {
  Machine machine;
  /// Memory of one process (GPU memory, or the data of a process on the CPU); nullopt: unknown.
  std::optional<uint64_t> memory_limit_bytes;
  bool has_memory_metric = false;  ///< --memory-metric tells each trial's memory
  /// The longest time that a trial measures (0: no limit), and the steps that it needs. A batch
  /// size whose steps take too long cannot be measured.
  std::chrono::nanoseconds longest_measurement{0};
  int64_t steps_a_trial = 1;
  /// The time of the whole search (0: no limit) and the number of its trials (0: no limit). Where
  /// time ends the search, an expensive trial must be worth its time.
  std::chrono::nanoseconds time{0};
  int most_trials = 0;
  uint64_t seed = 0;
};

/// Makes the strategy "model", "coordinate", "random" or "grid"; null for another name. `space`
/// must outlive the strategy.
[[nodiscard]] std::unique_ptr<Strategy> make_strategy(const std::string& name, const Space& space,
                                                      const SearchSettings& settings);

[[nodiscard]] std::unique_ptr<Strategy> make_model(const Space& space,
                                                   const SearchSettings& settings);
[[nodiscard]] std::unique_ptr<Strategy> make_coordinate(const Space& space);
[[nodiscard]] std::unique_ptr<Strategy> make_random(const Space& space, uint64_t seed);
[[nodiscard]] std::unique_ptr<Strategy> make_grid(const Space& space);

}  // namespace redline::tuner
