// A strategy decides what to measure next.
//
// The classic pair ask and tell is one function here: the history is what was told. The first
// trial (the defaults), retries after a crash and the confirmation of the finalists belong to
// Plan, so a strategy only explores.
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
  /// The next configuration to measure, nothing when the search has seen enough. `history` holds
  /// at least the first trial. Equal histories give equal answers.
  [[nodiscard]] virtual std::optional<Proposal> ask(const History& history) const = 0;
  /// One sentence for --dry-run.
  [[nodiscard]] virtual std::string description() const = 0;
};

/// What a strategy may know beside the history.
struct SearchSettings {
  Machine machine;
  /// Memory of one process (GPU memory, or the data of a process on the CPU); nothing: unknown.
  std::optional<uint64_t> memory_limit_bytes;
  /// How long a trial may measure at most, for so many steps; 0: as long as it takes.
  std::chrono::nanoseconds longest_measurement{0};
  int64_t steps_a_trial = 1;
  uint64_t seed = 0;
};

/// "staged", "coordinate", "random" or "grid"; nothing for another name. `space` must outlive the
/// strategy.
[[nodiscard]] std::unique_ptr<Strategy> make_strategy(const std::string& name, const Space& space,
                                                      const SearchSettings& settings);

[[nodiscard]] std::unique_ptr<Strategy> make_staged(const Space& space,
                                                    const SearchSettings& settings);
[[nodiscard]] std::unique_ptr<Strategy> make_coordinate(const Space& space);
[[nodiscard]] std::unique_ptr<Strategy> make_random(const Space& space, uint64_t seed);
[[nodiscard]] std::unique_ptr<Strategy> make_grid(const Space& space);

}  // namespace redline::tuner
