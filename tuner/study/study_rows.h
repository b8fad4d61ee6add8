// The rows of a study's file: what makes its results comparable, and its trials.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/search/history.h"
#include "tuner/study/database.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

struct StudyIdentity {
  std::vector<std::string> command;
  std::string space;  ///< Space::signature()
  std::optional<uint64_t> memory_limit_bytes;
  std::string metric_regex;
  std::string memory_metric_regex;
  std::string objective = {};  ///< "energy" or empty
  std::string share = {};      ///< what a trial has of the machine; empty: all of it

  [[nodiscard]] Objective searched_for() const;
};

/// A row of the study's table, and what users call it.
struct IdentityPart {
  const char* key;
  const char* name;
  std::string value;
};
[[nodiscard]] std::vector<IdentityPart> parts_of(const StudyIdentity& identity);

/// The reverse, by key.
[[nodiscard]] Result<StudyIdentity> identity_from(std::map<std::string, std::string>& values);

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
