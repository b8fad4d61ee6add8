#include "tuner/study/study_identity.h"

#include <nlohmann/json.hpp>

namespace redline::tuner {
using Json = nlohmann::json;

Objective StudyIdentity::searched_for() const {
  if (!metric_regex.empty()) return Objective::kMetric;
  return objective == "energy" ? Objective::kSamplesPerJoule : Objective::kSamplesPerSecond;
}

std::vector<IdentityPart> parts_of(const StudyIdentity& identity) {
  return {{"command", "command",
           Json(identity.command).dump(-1, ' ', false, Json::error_handler_t::replace)},
          {"space", "search space", identity.space},
          {"memory_limit_bytes", "--memory-limit",
           identity.memory_limit_bytes ? std::to_string(*identity.memory_limit_bytes) : "null"},
          {"metric", "--metric", identity.metric_regex},
          {"memory_metric", "--memory-metric", identity.memory_metric_regex},
          {"share", "--parallel", identity.share},
          {"objective", "--objective", identity.objective}};
}

Result<StudyIdentity> identity_from(std::map<std::string, std::string>& values) {
  const Json command = Json::parse(values["command"], nullptr, false);
  const Json limit = Json::parse(values["memory_limit_bytes"], nullptr, false);
  if (!command.is_array()) return tl::unexpected(std::string("its command cannot be read"));
  StudyIdentity identity{.command = {},
                         .space = values["space"],
                         .memory_limit_bytes = {},
                         .metric_regex = values["metric"],
                         .memory_metric_regex = values["memory_metric"],
                         .objective = values["objective"],
                         .share = values["share"]};
  for (const Json& word : command) {
    identity.command.push_back(word.is_string() ? word.get<std::string>() : word.dump());
  }
  if (limit.is_number_unsigned()) identity.memory_limit_bytes = limit.get<uint64_t>();
  return identity;
}

}  // namespace redline::tuner
