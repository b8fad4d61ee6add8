// The configurations that may be the next trial: those that the plausible fits of the model hold to
// be the fastest, and those around them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tuner/search/outlook.h"

namespace redline::tuner {

/// The values that a knob may have in candidates.
[[nodiscard]] std::vector<std::string> candidate_values(const Knob& knob);

class Candidates {
 public:
  /// `failure_costs` is what a trial that runs out of memory costs, in terms of a gain. `outlook`
  /// must outlive this.
  Candidates(Outlook& outlook, double failure_costs);

  /// The gain less the cost of a failure. A trial that runs out of memory is lost, and each such
  /// trial so far makes the next one cost more.
  [[nodiscard]] double worth(const Outlook::View& view, double gain) const;
  /// The configuration that one fit holds to be the most worthwhile.
  [[nodiscard]] Config favourite(size_t member) const;
  /// All candidates that were not tried.
  [[nodiscard]] std::set<Config> collect() const;

 private:
  void add(const Config& config, std::set<Config>& found) const;
  void add_neighbours(const Config& config, std::set<Config>& found) const;

  Outlook& outlook_;
  double failure_costs_;
  std::vector<std::vector<std::string>> values_;  ///< by knob
};

}  // namespace redline::tuner
