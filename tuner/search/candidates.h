// The configurations that may be the next trial: those that the plausible fits of the model hold to
// be the fastest, and those around them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tuner/search/outlook.h"

namespace redline::tuner {

/// The values that a knob may have in candidates.
[[nodiscard]] std::vector<std::string> candidate_values(const Knob& knob);

class Candidates {
 public:
  /// `outlook` must outlive this.
  explicit Candidates(Outlook& outlook);

  /// The gain less the cost of a failure. A trial that runs out of memory is lost, and each such
  /// trial so far makes the next one cost more. `failure_costs` is what the first one costs, in
  /// terms of a gain.
  [[nodiscard]] double worth(const Outlook::View& view, double gain, double failure_costs) const;
  /// The configuration that one fit holds to be the most worthwhile.
  [[nodiscard]] Config favourite(size_t member, double failure_costs);
  /// All candidates that were not tried.
  [[nodiscard]] std::set<Config> collect(double failure_costs);

 private:
  /// `config` with each value of one knob.
  using Row = std::vector<const Outlook::View*>;
  const Row& row(const Config& config, size_t knob);
  void add(const Config& config, std::set<Config>& found) const;
  void add_neighbours(const Config& config, std::set<Config>& found) const;

  Outlook& outlook_;
  std::vector<std::vector<std::string>> values_;  ///< by knob
  /// Rows by knob and by what else is in the configuration. The fits ask for the same ones again
  /// and again, and to look up each configuration would take most of a search's time.
  std::vector<std::map<Config, Row>> rows_;
};

}  // namespace redline::tuner
