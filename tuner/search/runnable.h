// Whether a configuration runs at all, apart from a rank's peak memory (memory_model.h): its values
// may be broken, its steps may take longer than a trial may measure, and the loader's waiting
// samples may fill the host's memory.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tuner/search/strategy.h"

namespace redline::tuner {

class Runnable {
 public:
  /// All arguments must outlive it.
  Runnable(const Space& space, const SearchSettings& settings, const History& history);

  /// The probability that its values run; lower for values that never ran and failed for another
  /// reason than memory.
  [[nodiscard]] double chance_of_values(const Config& config) const;
  /// False if as many waiting samples of a loader have already filled the host's memory.
  [[nodiscard]] bool fits_host(const Config& config, double batch) const;
  /// The largest batch size whose steps do not take too long, by the rate of the fastest trial; at
  /// least the largest that ran. Longer steps would leave no time for other trials.
  [[nodiscard]] double affordable_batch() const { return affordable_batch_; }

 private:
  [[nodiscard]] double find_affordable(const SearchSettings& settings) const;
  void count_failed_values();

  const Space& space_;
  const History& history_;
  double affordable_batch_;
  /// For each knob the chance of each value that never ran and failed.
  std::vector<std::map<std::string, double>> chances_;
};

}  // namespace redline::tuner
