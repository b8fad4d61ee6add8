#include "trace/read/recorded_facts.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_values.h"

namespace redline::trace {

RecordedFacts::RecordedFacts(const Metadata& metadata)
    : top_(std::make_shared<nlohmann::json>(
          nlohmann::json::parse(metadata.top_level_json, nullptr, false))) {}

// find() of what is no object finds nothing.
const nlohmann::json& RecordedFacts::value(const char* object, const char* key) const {
  static const nlohmann::json kNone;
  const auto outer = top_->find(object);
  if (outer == top_->end()) return kNone;
  const auto found = outer->find(key);
  return found == outer->end() ? kNone : *found;
}

std::string RecordedFacts::text(const char* object, const char* key) const {
  const nlohmann::json& found = value(object, key);
  return found.is_string() ? found.get<std::string>() : "";
}

std::optional<double> RecordedFacts::number(const char* object, const char* key) const {
  const nlohmann::json& found = value(object, key);
  return found.is_number() ? std::optional(found.get<double>()) : std::nullopt;
}

std::optional<double> RecordedFacts::samples_per_step() const {
  const auto samples = number("redline", "samples_per_step");
  return samples && *samples > 0 ? samples : std::nullopt;
}

std::optional<double> RecordedFacts::tokens_per_step() const {
  const auto tokens = number("redline", "tokens_per_step");
  return tokens && *tokens > 0 ? tokens : std::nullopt;
}

bool RecordedFacts::is_inference() const { return value("redline", "inference") == true; }

bool RecordedFacts::is_of_redline() const { return value("redline", "version").is_string(); }

bool RecordedFacts::is_without_pytorch() const {
  const auto redline = top_->find("redline");
  return redline != top_->end() && redline->contains("version") && !top_->contains("torch") &&
         !top_->contains("torch_version");
}

bool RecordedFacts::is_without_python() const {
  return is_without_pytorch() || (is_of_redline() && value("torch", "version").is_string() &&
                                  !value("torch", "python").is_string());
}

std::optional<int64_t> RecordedFacts::usable_cores() const {
  const nlohmann::json& machine = value("run", "machine");
  const auto cores = machine.find("usable_cores");
  if (cores == machine.end() || !cores->is_number_integer()) return std::nullopt;
  return cores->get<int64_t>();
}

CpuPrecision RecordedFacts::cpu_precision() const {
  CpuPrecision precision;
  const nlohmann::json& machine = value("run", "machine");
  const auto bf16 = machine.find("bf16");
  if (bf16 != machine.end() && bf16->is_boolean()) precision.computes_bf16 = bf16->get<bool>();
  precision.uses_autocast = value("torch", "autocast").contains("cpu");
  const nlohmann::json& parameters = value("torch", "parameters");
  double most = 0;
  for (const auto& [type, count] : parameters.items()) {
    if (!parameters.is_object() || !count.is_number() || count.get<double>() <= most) continue;
    precision.parameters = type;
    most = count.get<double>();
  }
  return precision;
}

std::optional<std::string> RecordedFacts::gpu_gap() const {
  const nlohmann::json& gpu = value("redline", "gpu");
  for (const char* key : {"off", "off_before", "off_after", "failed_flush"}) {
    const auto why = gpu.find(key);
    if (why != gpu.end() && why->is_string()) return why->get<std::string>();
  }
  if (whole_in(gpu, "incomplete_surges") > 0) {
    return fmt::format("CUPTI gave {} records without times", whole_in(gpu, "incomplete"));
  }
  const int64_t launches = whole_in(gpu, "graph_launches");
  const int64_t without = whole_in(gpu, "graph_launches_without_work");
  // A few may be of graphs that do nothing, or were under way when the recording ended.
  if (without * 100 <= launches) return std::nullopt;
  return fmt::format("{} of {} launches of CUDA graphs have no work", without, launches);
}

int64_t RecordedFacts::dropped_events() const {
  const double lost = number("redline", "dropped").value_or(0);
  const double beyond_limit = number("redline_size_limit", "dropped_events").value_or(0);
  const nlohmann::json& gpu = value("redline", "gpu");
  int64_t of_gpu = 0;
  // Not "unknown": another tool asked CUPTI for those records, and no trace has such ones.
  for (const char* key : {"dropped", "buffers_refused", "truncated", "other_clock"}) {
    of_gpu += whole_in(gpu, key);
  }
  return static_cast<int64_t>(lost + beyond_limit) + of_gpu;
}

int64_t RecordedFacts::merged_ranks() const {
  std::set<int64_t> ranks;
  int64_t unknown = 0;
  for (const nlohmann::json& merged : value("redline_merge", "ranks")) {
    const auto rank = merged.find("rank");
    const bool is_known = rank != merged.end() && rank->is_number_integer();
    if (is_known) ranks.insert(rank->get<int64_t>());
    if (!is_known) ++unknown;
  }
  return std::ssize(ranks) + unknown;
}

}  // namespace redline::trace
