// What makes results comparable: a study is only resumed with the same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace redline::tuner
