#include "profiler/request/options.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "profiler/request/job_rank.h"

namespace redline::profiler {
namespace {

using Json = nlohmann::json;
using Error = std::optional<std::string>;

constexpr uint64_t kLeastBytes = uint64_t{1} << 20;
constexpr double kMostRingSeconds = 86'400;
constexpr uint64_t kMostSamplesHz = 100;

bool read_source_option(const std::string& key, const Json& value, SourceOptions& options) {
  if (!value.is_boolean()) return false;
  for (const auto& [name, field] : kSourceOptions) {
    if (key != name) continue;
    options.*field = value.get<bool>();
    return true;
  }
  return false;
}

Error read_option(const std::string& key, const Json& value, Options& options) {
  if (key == "directory" && value.is_string()) {
    options.directory = value.get<std::string>();
  } else if (key == "memory_budget_bytes" && value.is_number_unsigned()) {
    options.memory_budget_bytes = value.get<uint64_t>();
    if (options.memory_budget_bytes < kLeastBytes) {
      return "memory_budget_bytes: must be at least 1048576";
    }
  } else if (key == "ring_seconds" && value.is_number()) {
    const double seconds = value.get<double>();
    if (!(seconds >= 0 && seconds <= kMostRingSeconds)) return "ring_seconds: not 0 to 86400";
    options.ring_ns = static_cast<int64_t>(seconds * 1e9);
  } else if (key == "slow_step" && value.is_number()) {
    options.slow_step = value.get<double>();
    if (options.slow_step != 0 && !(options.slow_step > 1))
      return "slow_step: must be above 1, or 0";
  } else if (key == "max_bytes" && value.is_number_unsigned()) {
    options.max_bytes = value.get<uint64_t>();
    if (options.max_bytes != 0 && options.max_bytes < kLeastBytes) {
      return "max_bytes: must be at least 1048576, or 0 for any size";
    }
  } else if (key == "host_samples_hz" && value.is_number_unsigned()) {
    if (value.get<uint64_t>() > kMostSamplesHz) return "host_samples_hz: must be at most 100";
    options.sources.host_samples_hz = value.get<int32_t>();
  } else if (key == "cpu" && value.is_boolean()) {
    options.sources.record_cpu = value.get<bool>();
  } else if (key == "gpu" && value.is_boolean()) {
    options.sources.record_gpu = value.get<bool>();
  } else if (!read_source_option(key, value, options.sources)) {
    return "option " + key + ": unknown, or of the wrong type";
  }
  return std::nullopt;
}

Error read_schedule(const Json& value, Schedule& schedule) {
  if (!value.is_object()) return "schedule: not an object";
  const std::pair<const char*, int64_t&> fields[] = {{"skip_first", schedule.skip_first},
                                                     {"wait", schedule.wait},
                                                     {"warmup", schedule.warmup},
                                                     {"active", schedule.active},
                                                     {"repeat", schedule.repeat}};
  for (const auto& [key, number] : value.items()) {
    bool known = false;
    for (const auto& [name, field] : fields) {
      if (key != name || !number.is_number_integer()) continue;
      field = number.get<int64_t>();
      known = true;
    }
    if (!known) return "schedule." + key + ": unknown, or not an integer";
  }
  if (!schedule.is_valid()) return "schedule: active must be > 0, and each number from 0 to 10^15";
  return std::nullopt;
}

Error read_ranks(const Json& value, std::vector<int64_t>& ranks) {
  if (!value.is_array()) return "ranks: not a list";
  for (const Json& rank : value) {
    if (!rank.is_number_unsigned()) return "ranks: a rank is a number from 0";
    ranks.push_back(rank.get<int64_t>());
  }
  return std::nullopt;
}

Error read_request(const std::string& key, const Json& value, RecordRequest& request) {
  if (key == "schedule") return read_schedule(value, request.schedule.emplace());
  if (key == "ranks") return read_ranks(value, request.ranks);
  if (key == "step_marker" && value.is_string()) {
    request.step_marker = value.get<std::string>();
    return std::nullopt;
  }
  return read_option(key, value, request.options);
}

tl::expected<Json, std::string> parse_object(std::string_view json) {
  Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return tl::unexpected(std::string("options are not a JSON object"));
  return object;
}

/// What one option brings with it, in torch.profiler as here.
tl::expected<Options, std::string> completed(Options options) {
  if (!options.sources.record_cpu && !options.sources.record_gpu) {
    return tl::unexpected(std::string("options cpu and gpu: one of them must be recorded"));
  }
  options.sources.record_shapes |= options.sources.with_flops;
  return options;
}

}  // namespace

tl::expected<Options, std::string> parse_options(std::string_view json) {
  const auto object = parse_object(json);
  if (!object) return tl::unexpected(object.error());
  Options options;
  for (const auto& [key, value] : object->items()) {
    if (const auto error = read_option(key, value, options)) return tl::unexpected(*error);
  }
  return completed(options);
}

tl::expected<RecordRequest, std::string> parse_record_request(std::string_view json) {
  const auto object = parse_object(json);
  if (!object) return tl::unexpected(object.error());
  RecordRequest request;
  for (const auto& [key, value] : object->items()) {
    if (value.is_null()) continue;
    if (const auto error = read_request(key, value, request)) return tl::unexpected(*error);
  }
  auto options = completed(request.options);
  if (!options) return tl::unexpected(options.error());
  request.options = std::move(*options);
  return request;
}

tl::expected<RecordRequest, std::string> record_request_from_environment() {
  const char* json = std::getenv("REDLINE_RECORD");
  if (json == nullptr || *json == '\0') {
    return tl::unexpected(std::string("REDLINE_RECORD is not set"));
  }
  auto request = parse_record_request(json);
  if (!request) return tl::unexpected("REDLINE_RECORD: " + request.error());
  return request;
}

bool is_excluded(const RecordRequest& request) {
  const auto own = job_rank();
  return !request.ranks.empty() && own &&
         std::ranges::find(request.ranks, own->rank) == request.ranks.end();
}

bool is_json(std::string_view text) { return Json::accept(text); }

bool is_json_object(std::string_view text) { return Json::parse(text, nullptr, false).is_object(); }

}  // namespace redline::profiler
