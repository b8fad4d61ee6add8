#include "profiler/request/options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "base/json_values.h"
#include "base/launched_rank.h"
#include "base/user_switch.h"
#include "profiler/request/recording_summary.h"

namespace redline::profiler {
namespace {

using Json = nlohmann::json;
using Error = std::optional<std::string>;

constexpr std::pair<const char*, int64_t Schedule::*> kScheduleFields[] = {
    {"skip_first", &Schedule::skip_first},
    {"wait", &Schedule::wait},
    {"warmup", &Schedule::warmup},
    {"active", &Schedule::active},
    {"repeat", &Schedule::repeat}};

template <typename Value>
bool has_type_of(const Value&, const Json& json) {
  if constexpr (std::is_same_v<Value, bool>) return json.is_boolean();
  if constexpr (std::is_floating_point_v<Value>) return json.is_number();
  // In Python bytes are often written as 500e6. Beyond 2^53 floats are not exact.
  if (!json.is_number_float()) return json.is_number_integer();
  return std::abs(json.get<double>()) < 0x1p53 && std::trunc(json.get<double>()) == json;
}

template <typename Value>
const char* type_name_of(const Value&) {
  if (std::is_same_v<Value, bool>) return "a boolean";
  return std::is_floating_point_v<Value> ? "a number" : "a whole number";
}

Error read_option(const std::string& key, const Json& json, RecorderOptions& options) {
  Error error = "option " + key + ": unknown";
  for_each_option<RecorderOptions>([&](const OptionRow& row, auto member) {
    auto& value = options.*member;
    if (key != row.key) return;
    error.reset();
    const std::string given = ", not " + json_text(json);
    if (!has_type_of(value, json)) {
      error = "option " + key + ": must be " + type_name_of(value) + given;
    } else if (row.is_allowed != nullptr && !row.is_allowed(json.get<double>())) {
      error = "option " + key + ": must be " + row.limits + given;
    } else {
      value = json.get<std::remove_reference_t<decltype(value)>>();
    }
  });
  return error;
}

Error read_schedule(const Json& json, Schedule& schedule) {
  if (!json.is_object()) return "schedule: not an object";
  for (const auto& [key, number] : json.items()) {
    int64_t* const field = schedule_field(schedule, key);
    if (field == nullptr || !number.is_number_integer()) {
      return "schedule." + key + ": unknown, or not an integer";
    }
    *field = number.get<int64_t>();
  }
  if (!schedule.is_valid()) return "schedule: active must be > 0, and each number from 0 to 10^15";
  return std::nullopt;
}

Error read_ranks(const Json& json, std::vector<int64_t>& ranks) {
  if (!json.is_array()) return "ranks: not a list";
  for (const Json& rank : json) {
    if (!rank.is_number_unsigned()) return "ranks: a rank is a number from 0";
    ranks.push_back(rank.get<int64_t>());
  }
  return std::nullopt;
}

Error read_request(const std::string& key, const Json& json, RecordRequest& request) {
  if (key == "schedule") return read_schedule(json, request.schedule.emplace());
  if (key == "ranks") return read_ranks(json, request.ranks);
  if (key == "step_marker" && json.is_string()) {
    request.step_marker = json.get<std::string>();
  } else if (key == "only_on_request" && json.is_boolean()) {
    request.only_on_request = json.get<bool>();
  } else if (key == "directory" && json.is_string()) {
    request.options.directory = json.get<std::string>();
  } else {
    return read_option(key, json, request.options);
  }
  return std::nullopt;
}

}  // namespace

int64_t* schedule_field(Schedule& schedule, std::string_view name) {
  for (const auto& [known, field] : kScheduleFields) {
    if (known == name) return &(schedule.*field);
  }
  return nullptr;
}

tl::expected<RecordRequest, std::string> parse_record_request(std::string_view json) {
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return tl::unexpected(std::string("options are not a JSON object"));
  RecordRequest request;
  for (const auto& [key, value] : object.items()) {
    if (value.is_null()) continue;
    if (const auto error = read_request(key, value, request)) return tl::unexpected(*error);
  }
  if (!request.options.record_cpu && !request.options.record_gpu) {
    return tl::unexpected(std::string("options cpu and gpu: one of them must be recorded"));
  }
  request.options.record_shapes |= request.options.with_flops;  // as in torch.profiler
  return request;
}

std::string to_json(const RecordRequest& request) {
  Json json{{"directory", request.options.directory}, {"schedule", nullptr}};
  for_each_option<RecorderOptions>(
      [&](const OptionRow& row, auto member) { json[row.key] = request.options.*member; });
  if (request.schedule) {
    for (const auto& [name, field] : kScheduleFields) {
      json["schedule"][name] = (*request.schedule).*field;
    }
  }
  if (!request.ranks.empty()) json["ranks"] = request.ranks;
  if (!request.step_marker.empty()) json["step_marker"] = request.step_marker;
  if (request.only_on_request) json["only_on_request"] = true;
  return json_text(json);
}

tl::expected<RecordRequest, std::string> record_request_from_environment() {
  const std::string json = user_variable("REDLINE_RECORD");
  if (json.empty()) return tl::unexpected(std::string("REDLINE_RECORD is not set"));
  auto request = parse_record_request(json);
  if (!request) return tl::unexpected("REDLINE_RECORD: " + request.error());
  return request;
}

std::string problem_of_step_marker(const std::string& name) {
  return name.empty() ? "needs the name of a range or mark" : "";
}

std::string problem_of_directory(const std::string& directory) {
  const std::string text = json_text(Json(directory));
  return Json::parse(text) == directory ? "" : "the name of the folder is not UTF-8";
}

bool is_excluded(const RecordRequest& request) {
  const auto own = launched_rank();
  return !request.ranks.empty() && own &&
         std::ranges::find(request.ranks, own->rank) == request.ranks.end();
}

void note_ranks(const RecordRequest& request) {
  // Nobody hears a note where there is no `redline record`.
  if (is_excluded(request)) {
    static_cast<void>(launch::RecordNotes::add({"excluded", ""}));
  } else if (!request.ranks.empty() && !launched_rank()) {
    static_cast<void>(launch::RecordNotes::add(
        {"no_rank",
         "a process knew of no rank at its first step, so --ranks did not apply to it"}));
  }
}

bool is_json(std::string_view text) { return Json::accept(text); }

bool is_json_object(std::string_view text) { return Json::parse(text, nullptr, false).is_object(); }

}  // namespace redline::profiler
