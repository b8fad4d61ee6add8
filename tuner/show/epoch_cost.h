// What a rate means to its user: how long an epoch takes, and what it costs.
#pragma once

#include <optional>
#include <string>

#include "tuner/study/best_config.h"

namespace redline::tuner {

/// "0.082 J a sample at 512 samples/s, with the defaults 0.11 J"; empty where NVML told none.
[[nodiscard]] std::string energy_text(const Best& best, const std::string& indent);

/// "an epoch of 50,000 samples takes 26 s, with the defaults 35 s" where the hook has seen how many
/// samples an epoch has; with a price (of an hour of the whole job) also what an epoch, else a
/// million samples, costs. Each line ends with a newline; empty where nothing is known.
[[nodiscard]] std::string epoch_cost_text(const Best& best, std::optional<double> cost_per_hour,
                                          const std::string& indent);

}  // namespace redline::tuner
