// A trial as a row of the study's table `trials`.
#pragma once

#include "tuner/search/history.h"
#include "tuner/study/database.h"

namespace redline::tuner {

/// In the order in which read_trial() takes them.
constexpr const char* kTrialColumns =
    "id, config, why, outcome, samples_per_s, samples_per_s_low, samples_per_s_high, "
    "peak_memory_bytes, wall_ns, steps, message, result";

/// A row of these columns; the error says that the file is damaged.
[[nodiscard]] Result<FinishedTrial> read_trial(Statement& row);
/// Parameters ?2 to ?10: outcome to result.
void bind_result(Statement& update, const TrialResult& result);

[[nodiscard]] std::string config_column(const Config& config);
/// Nothing for what is no configuration.
[[nodiscard]] std::optional<Config> read_config_column(const std::string& text);

}  // namespace redline::tuner
