// The study as one HTML page without references to anything outside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/best_config.h"
#include "tuner/history.h"

namespace redline::tuner {

/// `study` is the file's name, `config_path` where best.json is, for the command to copy.
[[nodiscard]] std::string study_page(const History& history, const Space& space,
                                     const std::optional<Best>& best,
                                     const std::vector<std::string>& command,
                                     const std::string& study, const std::string& config_path);

/// How much a knob mattered: the best rate that was seen with each of its values, best first.
struct KnobEffect {
  std::string knob;
  std::vector<std::pair<std::string, double>> best_by_value;

  /// What the best trial with the worst value that runs lacks to the best, 0..1.
  [[nodiscard]] double at_stake() const;
};
/// The most important first; knobs of which only one value ran are left out.
[[nodiscard]] std::vector<KnobEffect> knob_effects(const History& history, const Space& space);

}  // namespace redline::tuner
