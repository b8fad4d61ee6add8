#include "tuner/study/study_rows.h"

#include <fmt/format.h>

#include <string_view>

#include "base/format.h"
#include "base/json_values.h"
#include "base/secrets.h"

namespace redline::tuner {
namespace {

using Json = nlohmann::json;

template <typename T>
std::optional<T> optional_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? std::nullopt
                                                 : std::optional<T>(found->template get<T>());
}

Json interval_json(const std::optional<Throughput>& interval) {
  return interval ? Json{interval->samples_per_s, interval->low, interval->high} : Json();
}

Json host_use_json(const std::optional<HostUse>& use) {
  if (!use) return {};
  return {{"memory_bytes", use->memory_bytes}, {"shm_bytes", use->shm_bytes}};
}

Json limits_json(const std::map<std::string, Limit>& limits) {
  Json json = Json::object();
  for (const auto& [knob, limit] : limits) {
    json[knob] = {{"most", limit.most}, {"why", limit.why}};
  }
  return json;
}

Json latency_json(const std::optional<Latency>& latency) {
  if (!latency) return {};
  return {{"batches", latency->count},
          {"p50_ns", latency->p50_ns},
          {"p90_ns", latency->p90_ns},
          {"p99_ns", latency->p99_ns}};
}

Json expected_json(const std::optional<Expectation>& expected) {
  if (!expected) return {};
  return {{"score", interval_json(expected->score)},
          {"peak_memory_bytes", expected->peak_memory_bytes}};
}

/// The values that have no column of their own, because they are of little use in a query.
/// finished() reads them back.
Json result_json(const TrialResult& result) {
  return {{"memory_capacity_bytes", result.memory_capacity_bytes},
          {"resting_memory_bytes", result.resting_memory_bytes},
          {"fullest_gpu", result.fullest_gpu},
          {"data_wait_share", result.data_wait_share},
          {"tokens_per_sample", result.tokens_per_sample},
          {"infers", result.infers},
          {"latency", latency_json(result.latency)},
          {"epoch_samples", result.epoch_samples},
          {"joules_per_sample", result.joules_per_sample},
          {"samples_per_joule", interval_json(result.samples_per_joule)},
          {"host_use", host_use_json(result.host_use)},
          {"expected", expected_json(result.expected)},
          {"not_started", result.not_started},
          {"ranks", result.ranks},
          {"readers", result.readers},
          {"neighbours", result.neighbours},
          {"observed", result.observed},
          {"unused", result.unused},
          {"limits", limits_json(result.limits)},
          {"compile_ns", result.compile_time.count()},
          {"step_samples", result.step_samples},
          {"is_certain", result.is_certain},
          {"failed_rank", result.failed_rank},
          {"start_up_ns", result.start_up.count()},
          {"disturbance", result.disturbance},
          {"stderr_tail", result.stderr_tail},
          {"notes", result.notes}};
}

void read_result_json(const Json& json, TrialResult& result) {
  result.memory_capacity_bytes = optional_of<uint64_t>(json, "memory_capacity_bytes");
  result.resting_memory_bytes = optional_of<uint64_t>(json, "resting_memory_bytes");
  result.fullest_gpu = json.value("fullest_gpu", "");
  result.data_wait_share = optional_of<double>(json, "data_wait_share");
  result.tokens_per_sample = optional_of<double>(json, "tokens_per_sample");
  result.infers = json.value("infers", false);
  if (const Json& latency = json.value("latency", Json()); latency.is_object()) {
    result.latency = Latency{.count = latency.at("batches"),
                             .p50_ns = latency.at("p50_ns"),
                             .p90_ns = optional_of<int64_t>(latency, "p90_ns"),
                             .p99_ns = optional_of<int64_t>(latency, "p99_ns")};
  }
  result.epoch_samples = optional_of<int64_t>(json, "epoch_samples");
  result.joules_per_sample = optional_of<double>(json, "joules_per_sample");
  if (const Json& energy = json.value("samples_per_joule", Json()); energy.is_array()) {
    result.samples_per_joule = Throughput{energy.at(0), energy.at(1), energy.at(2)};
  }
  if (const Json& use = json.value("host_use", Json()); use.is_object()) {
    result.host_use = HostUse{.memory_bytes = use.value("memory_bytes", uint64_t{0}),
                              .shm_bytes = use.value("shm_bytes", uint64_t{0})};
  }
  if (const Json& expected = json.value("expected", Json()); expected.is_object()) {
    const Json& score = expected.at("score");
    result.expected = {.score = {score.at(0), score.at(1), score.at(2)},
                       .peak_memory_bytes = optional_of<uint64_t>(expected, "peak_memory_bytes")};
  }
  result.not_started = json.value("not_started", false);
  result.ranks = json.value("ranks", 0);
  result.readers = json.value("readers", result.ranks);
  result.neighbours = json.value("neighbours", 0);
  result.observed = json.value("observed", Config{});
  result.unused = json.value("unused", Config{});
  const Json limits = json.value("limits", Json::object());
  for (const auto& [knob, limit] : limits.items()) {
    result.limits[knob] = {.most = limit.value("most", int64_t{0}),
                           .why = limit.value("why", std::string())};
  }
  result.compile_time = std::chrono::nanoseconds(json.value("compile_ns", int64_t{0}));
  result.step_samples = json.value("step_samples", int64_t{0});
  result.is_certain = json.value("is_certain", false);
  result.failed_rank = json.value("failed_rank", -1);
  result.start_up = std::chrono::nanoseconds(json.value("start_up_ns", int64_t{0}));
  result.disturbance = json.value("disturbance", std::string());
  result.stderr_tail = json.value("stderr_tail", std::string());
  result.notes = json.value("notes", std::vector<std::string>());
}

/// False if the text is not what result_json() writes.
bool read_result_column(const std::string& text, TrialResult& result) {
  try {
    read_result_json(Json::parse(text), result);
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

std::vector<std::string> words_of(const Json& command) {
  std::vector<std::string> words;
  if (!command.is_array()) return words;
  for (const Json& word : command) words.push_back(plain_text(word));
  return words;
}

std::string machine_column(const Machine& machine) {
  return json_text(
      Json{{"gpus", machine.gpus}, {"gpu_model", machine.gpu_model}, {"cores", machine.cores}});
}

/// nullopt for a study of a program that did not keep it.
std::optional<Machine> machine_from(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    const int gpus = json.at("gpus");
    return Machine{.gpu = gpus > 0,
                   .gpus = gpus,
                   .cores = json.at("cores"),
                   .gpu_model = json.at("gpu_model")};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

/// The stored value of a part, as messages show it.
std::string shown_value(const IdentityPart& part, const std::string& stored) {
  if (std::string_view(part.key) == "environment") return without_secrets(stored);
  if (std::string_view(part.key) != "command") return stored;
  return format_command(without_secrets(words_of(Json::parse(stored, nullptr, false))));
}

/// The order of a space's knobs is no part of it.
bool is_same(const IdentityPart& part, const std::string& stored) {
  if (stored == part.value) return true;
  if (std::string_view(part.key) != "space") return false;
  // nlohmann::json sorts the members.
  const auto earlier = nlohmann::json::parse(stored, nullptr, false);
  return !earlier.is_discarded() && earlier == nlohmann::json::parse(part.value, nullptr, false);
}

}  // namespace

Objective StudyIdentity::searched_for() const {
  if (!metric_regex.empty()) return Objective::kMetric;
  return objective_of(objective);
}

std::vector<IdentityPart> parts_of(const StudyIdentity& identity) {
  std::vector<IdentityPart> parts = {
      {"command", "command", json_text(Json(identity.command))},
      {"space", "search space", identity.space},
      {"memory_limit_bytes", "--memory-limit",
       identity.memory_limit_bytes ? std::to_string(*identity.memory_limit_bytes) : "null"},
      {"metric", "--metric", identity.metric_regex},
      {"memory_metric", "--memory-metric", identity.memory_metric_regex},
      {"share", "--parallel", identity.share},
      {"objective", "--objective", identity.objective},
      {"step_marker", "--step-marker", identity.step_marker},
      {"environment", "environment",
       identity.environment.empty() ? "" : config_column(identity.environment)}};
  // Before the space, which may depend on it.
  if (identity.machine) {
    parts.insert(parts.begin() + 1, {"machine", "machine", machine_column(*identity.machine)});
  }
  return parts;
}

std::string conflict(const IdentityPart& part, const std::optional<std::string>& stored) {
  std::string problem;
  if (std::string_view(part.key) == "machine") {
    const auto earlier = stored ? machine_from(*stored) : std::nullopt;
    const auto now = machine_from(part.value);
    if (earlier && now && now->differs_from(*earlier)) {
      problem = fmt::format(
          "its trials ran on {}, and this search has {}, so they cannot be compared. Give --study "
          "another file",
          earlier->text(), now->text());
    }
  } else if (!is_same(part, stored.value_or(""))) {
    const std::string earlier = stored ? shown_value(part, *stored) : "";
    problem = fmt::format(
        "its trials had another {} ({}), so they say nothing about this one. Give the same again, "
        "or --study another file",
        part.name, earlier.empty() ? "none" : earlier);
  }
  return problem;
}

Result<StudyIdentity> identity_from(std::map<std::string, std::string>& values) {
  const Json command = Json::parse(values["command"], nullptr, false);
  const Json limit = Json::parse(values["memory_limit_bytes"], nullptr, false);
  if (!command.is_array()) return tl::unexpected(std::string("its command cannot be read"));
  StudyIdentity identity{
      .command = words_of(command),
      .space = values["space"],
      .memory_limit_bytes = {},
      .metric_regex = values["metric"],
      .memory_metric_regex = values["memory_metric"],
      .objective = values["objective"],
      .share = values["share"],
      .step_marker = values["step_marker"],
      .machine = machine_from(values["machine"]),
      .environment = read_config_column(values["environment"]).value_or(Config())};
  if (limit.is_number_unsigned()) identity.memory_limit_bytes = limit.get<uint64_t>();
  return identity;
}

std::string config_column(const Config& config) { return json_text(Json(config)); }

std::optional<Config> read_config_column(const std::string& text) {
  try {
    return Json::parse(text).get<Config>();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

Result<FinishedTrial> read_trial(Statement& row) {
  FinishedTrial trial{.id = row.integer(0), .config = {}, .why = row.text(2), .result = {}};
  const std::optional<Config> config = read_config_column(row.text(1));
  const std::optional<Outcome> outcome = outcome_from_string(row.text(3));
  if (!config || !outcome || !read_result_column(row.text(11), trial.result)) {
    return tl::unexpected(fmt::format("trial {} cannot be read: the file is damaged", trial.id));
  }
  trial.config = *config;
  trial.result.outcome = *outcome;
  if (!row.is_null(4)) {
    trial.result.throughput =
        Throughput{.samples_per_s = row.real(4), .low = row.real(5), .high = row.real(6)};
  }
  if (!row.is_null(7)) trial.result.peak_memory_bytes = static_cast<uint64_t>(row.integer(7));
  trial.result.wall = std::chrono::nanoseconds(row.integer(8));
  trial.result.steps = row.integer(9);
  trial.result.message = row.text(10);
  return trial;
}

void bind_result(Statement& update, const TrialResult& result) {
  update.bind(2, std::string(to_string(result.outcome)));
  if (const auto& rate = result.throughput) {
    update.bind(3, rate->samples_per_s).bind(4, rate->low).bind(5, rate->high);
  }
  if (const auto& peak = result.peak_memory_bytes) update.bind(6, static_cast<int64_t>(*peak));
  update.bind(7, int64_t{result.wall.count()})
      .bind(8, result.steps)
      .bind(9, result.message)
      .bind(10, json_text(result_json(result)));
}

}  // namespace redline::tuner
