#include "trace/read/metadata.h"

#include <nlohmann/json.hpp>

#include "trace/emit/json_scan.h"

namespace redline::trace {
namespace {

using Json = nlohmann::json;

std::optional<int> integer(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int>();
}

std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void read_distributed_info(const Json& info, Metadata& metadata) {
  if (!info.is_object()) return;
  metadata.rank = integer(info, "rank");
  metadata.world_size = integer(info, "world_size");
  metadata.backend = text(info, "backend");
}

}  // namespace

int64_t base_time_ns(std::span<const TopLevelValue> values) {
  for (const TopLevelValue& value : values) {
    if (value.key == "baseTimeNanoseconds") {
      return parse_scaled(unquote(value.json), 0).value_or(0);
    }
  }
  return 0;
}

Metadata read_metadata(std::span<const TopLevelValue> values, IssueLog& issues) {
  Metadata metadata;
  Json others = Json::object();
  for (const TopLevelValue& value : values) {
    Json parsed = Json::parse(value.json, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_discarded()) {
      issues.add(Issue::kTopLevelValueMalformed, 0);
      continue;
    }
    if (value.key == "distributedInfo") read_distributed_info(parsed, metadata);
    if (value.key == "host_name" && parsed.is_string()) metadata.host = parsed.get<std::string>();
    if (value.key == "samples" && parsed.is_array() && !parsed.empty()) {
      issues.add(Issue::kSampleNotShown, 0, parsed.size());
    }
    if (value.key == "deviceProperties") {
      metadata.device_properties_json = value.json;
    } else {
      others[value.key] = std::move(parsed);
    }
  }
  metadata.top_level_json = others.dump(-1, ' ', false, Json::error_handler_t::replace);
  return metadata;
}

}  // namespace redline::trace
