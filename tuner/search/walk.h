// A search that is written as straight code ("try this; if it was faster, try that"), although it
// can measure only one configuration per call of Strategy::ask.
//
// measure() looks a configuration up in the history. Where it was not measured yet, the walk notes
// it as wanted and stops; the next ask() walks from the start again, one answer richer. A walk over
// 30 trials takes microseconds, and the search has no state. A state machine was rejected: each
// stage would have to say where it was left. So would a coroutine, whose state cannot be saved with
// a study.
#pragma once

#include <optional>

#include "tuner/search/history.h"

namespace redline::tuner {

class Walk {
 public:
  /// Begins at the first trial of `history`, which must not be empty (asserted). Its configuration
  /// is the incumbent even if it failed. Both arguments must outlive the walk.
  Walk(const Space& space, const History& history);

  /// Samples per second; 0 if the configuration does not run. nullopt: stop walking, because its
  /// trial is wanted first.
  [[nodiscard]] std::optional<double> measure(const Config& config, const std::string& why);
  /// Measures a configuration, and makes it the incumbent if it is faster. False: stop walking.
  [[nodiscard]] bool attempt(const Config& config, const std::string& why);
  /// The same for the incumbent with one knob changed.
  [[nodiscard]] bool attempt(const std::string& knob, const std::string& value,
                             const std::string& why);

  [[nodiscard]] const std::optional<Proposal>& wanted() const { return wanted_; }
  [[nodiscard]] const Config& best() const { return best_; }
  [[nodiscard]] double best_rate() const { return best_rate_; }
  /// The incumbent's value of a knob: the one that was set, else the script's own; nullopt if that
  /// is unknown.
  [[nodiscard]] std::optional<std::string> value(const Knob& knob) const;
  /// The same as a number (the script's own may lie outside the range); `otherwise` if it is
  /// unknown.
  [[nodiscard]] int64_t number(const Knob& knob, int64_t otherwise) const;
  [[nodiscard]] Config with(const std::string& knob, const std::string& value) const;

  [[nodiscard]] const History& history() const { return history_; }

 private:
  const Space& space_;
  const History& history_;
  Config best_;
  double best_rate_ = 0;
  std::optional<Proposal> wanted_;
};

/// Climbs one numeric knob from the incumbent's value: doubles it (or adds 1 to zero) while that
/// gains, otherwise halves it. False: stop walking.
[[nodiscard]] bool climb(Walk& walk, const Knob& knob);

}  // namespace redline::tuner
