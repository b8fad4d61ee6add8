// The rows of a study's file: its identity, which makes results comparable, and its trials.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/search/history.h"
#include "tuner/space/machine.h"
#include "tuner/study/database.h"
#include "tuner/trial/trial_result.h"

namespace redline::tuner {

struct StudyIdentity {
  std::vector<std::string> command;
  std::string space;  ///< Space::signature()
  std::optional<uint64_t> memory_limit_bytes;
  std::string metric_regex;
  std::string memory_metric_regex;
  std::string objective = {};  ///< word_of() it
  std::string share = {};      ///< the part of the machine that a trial gets; empty: all of it
  std::string step_marker = {};
  std::optional<Machine> machine = {};  ///< as a trial sees it; nullopt: unknown
  Config environment = {};              ///< variables that hold a placeholder

  [[nodiscard]] Objective searched_for() const;
};

/// A row of the study's table of its identity, and the name that users know.
struct IdentityPart {
  const char* key;
  const char* name;
  std::string value;
};
[[nodiscard]] std::vector<IdentityPart> parts_of(const StudyIdentity& identity);

/// Why a search with this part cannot go on with trials for which `stored` was kept; empty if it
/// can.
[[nodiscard]] std::string conflict(const IdentityPart& part,
                                   const std::optional<std::string>& stored);

/// The reverse of parts_of(), by key.
[[nodiscard]] Result<StudyIdentity> identity_from(std::map<std::string, std::string>& values);

/// The columns in the order in which read_trial() takes them.
constexpr const char* kTrialColumns =
    "id, config, why, outcome, samples_per_s, samples_per_s_low, samples_per_s_high, "
    "peak_memory_bytes, wall_ns, steps, message, result";

/// Reads a row of these columns. The error says that the file is damaged.
[[nodiscard]] Result<FinishedTrial> read_trial(Statement& row);
/// Binds the parameters ?2 to ?10, from outcome to result.
void bind_result(Statement& update, const TrialResult& result);

[[nodiscard]] std::string config_column(const Config& config);
/// nullopt if the text is no configuration.
[[nodiscard]] std::optional<Config> read_config_column(const std::string& text);

}  // namespace redline::tuner
