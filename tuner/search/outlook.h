// What the models of the step and of memory, fitted to all trials so far, say together of each
// configuration: how fast it is, whether it runs, and how it compares with the best so far.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tuner/search/memory_model.h"
#include "tuner/search/runnable.h"
#include "tuner/search/step_model.h"
#include "tuner/search/strategy.h"

namespace redline::tuner {

class Outlook {
 public:
  /// `history` must hold a trial that is ok (asserted). All arguments must outlive the outlook.
  Outlook(const Space& space, const SearchSettings& settings, const History& history);

  /// A configuration as the models see it.
  struct View {
    Config config;  ///< canonical
    Place place;
    double chance = 0;  ///< probability that it runs
    bool is_new = true;
  };
  /// Looked up once and then kept; the reference stays valid.
  [[nodiscard]] const View& look(const Config& config);

  /// The fastest configuration, by what all trials together tell about each, with the script's own
  /// values.
  [[nodiscard]] const Config& best() const { return best_; }
  [[nodiscard]] double best_rate() const;
  /// The rate of a place, by the mean of all plausible fits.
  [[nodiscard]] double rate(const Place& place) const;
  /// The share by which a place is expected to be faster than the best, where slower counts as 0.
  [[nodiscard]] double expected_gain(const Place& place) const;
  /// nullopt if the rate is too large for a number.
  [[nodiscard]] std::optional<Expectation> expectation(const View& view) const;

  [[nodiscard]] const Space& space() const { return space_; }
  [[nodiscard]] const History& history() const { return history_; }
  [[nodiscard]] const StepModel& model() const { return model_; }
  [[nodiscard]] const MemoryModel& memory() const { return memory_; }
  [[nodiscard]] const Runnable& runnable() const { return runnable_; }

 private:
  void find_best();

  const Space& space_;
  const History& history_;
  MemoryModel memory_;
  StepModel model_;
  Runnable runnable_;
  std::map<Config, View> seen_;
  Config best_;
  std::vector<double> best_rates_;  ///< logarithms, one for each plausible fit
};

}  // namespace redline::tuner
