#include "tuner/study/best_config.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "base/json_values.h"
#include "base/secrets.h"
#include "tuner/search/plan.h"

namespace redline::tuner {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson profile_json(const BestProfile& profile) {
  const auto path = [](const std::string& folder) {
    return folder.empty() ? OrderedJson() : OrderedJson(std::filesystem::absolute(folder).string());
  };
  return {{"default", path(profile.default_folder)}, {"best", path(profile.best_folder)}};
}

std::chrono::nanoseconds longest_compilation(const History& history, const Config& config) {
  std::chrono::nanoseconds longest{0};
  for (const FinishedTrial* run : history.runs_of(config)) {
    longest = std::max(longest, run->result.compile_time);
  }
  return longest;
}

/// 0 if no run counted samples.
int64_t step_samples_of(const History& history, const Config& config) {
  int64_t samples = 0;
  for (const FinishedTrial* run : history.runs_of(config)) {
    samples = std::max(samples, run->result.step_samples);
  }
  return samples;
}

/// What compilation cost the winner, if the script or the knob compiles. It pays against the same
/// values without it if they were measured, else against the `first`.
std::optional<Compilation> compilation_of(const History& history, const Best& best,
                                          const Config& first, const RunSpread& spread) {
  Compilation result{.time = longest_compilation(history, best.config), .pays_after_steps = {}};
  if (result.time < std::chrono::seconds(1)) return std::nullopt;
  Config other = best.config;
  auto others = other.erase("compile") > 0 ? estimate(history, other, spread) : std::nullopt;
  if (!others) {
    other = first;
    others = best.default_estimate;
  }
  // A script that compiles by itself does so with other values, too.
  const auto more = result.time - longest_compilation(history, other);
  const bool counts_samples = history.rate() == Objective::kSamplesPerSecond;
  if (!counts_samples || !others || best.is_default || best.step_samples == 0 ||
      more < std::chrono::seconds(1)) {
    return result;
  }
  const double gained = 1 / others->throughput.samples_per_s -
                        1 / best.estimate.throughput.samples_per_s;  // seconds a sample
  if (gained <= 0) return result;
  const double seconds = std::chrono::duration<double>(more).count();
  result.pays_after_steps =
      std::llround(seconds / (gained * static_cast<double>(best.step_samples)));
  return result;
}

}  // namespace

std::optional<Best> find_best(const History& history) {
  const std::optional<Config> config = best_config(history);
  if (!config) return std::nullopt;
  const RunSpread spread = spread_between_runs(history);
  const Config first = history.first_config();
  const auto runs = history.runs_of(*config);
  Best best{.config = *config,
            .effective = history.effective(*config),
            .estimate = *estimate(history, *config, spread),
            .peak_memory_bytes = {},
            .memory_capacity_bytes = runs.back()->result.memory_capacity_bytes,
            .is_default = *config == first,
            .has_own_default = history.space().first.empty(),
            .default_estimate = estimate(history, first, spread),
            .speedup = {},
            .step_samples = step_samples_of(history, *config),
            .default_step_samples = step_samples_of(history, first),
            .epoch_samples = history.first_to_run().epoch_samples};
  best.has_disturbed_runs = std::ssize(runs) > best.estimate.runs;
  for (const FinishedTrial* run : runs) {
    const auto& peak = run->result.peak_memory_bytes;
    if (peak) best.peak_memory_bytes = std::max(best.peak_memory_bytes.value_or(0), *peak);
    best.tokens_per_sample = run->result.tokens_per_sample;
    if (run->result.latency) best.latency = run->result.latency;
  }
  if (best.default_estimate) best.speedup = ratio(best.estimate, *best.default_estimate, spread);
  // What --metric counts may be no samples.
  if (history.rate() != Objective::kSamplesPerSecond) best.epoch_samples.reset();
  best.compilation = compilation_of(history, best, first, spread);
  if (best.is_default) best.speedup = Ratio{.value = 1, .low = 1, .high = 1};
  return best;
}

std::string verdict_text(const Best& best) {
  if (best.is_default) return fmt::format("{} itself", best.default_name());
  if (!best.speedup) return fmt::format("{} does not run{}", best.default_name(), best.doubt());
  std::string text = fmt::format("{:.2f} x {}", best.speedup->value, best.default_name());
  if (!best.has_interval()) return text + best.doubt();
  if (!best.proven()) text = "not proven faster: " + text;
  constexpr double kSaysNothing = 100;
  text += best.speedup->high < kSaysNothing
              ? fmt::format(" ({:.2f} to {:.2f})", best.speedup->low, best.speedup->high)
              : " (too few runs to say how sure that is)";
  return text + best.doubt();
}

OrderedJson throughput_json(const std::optional<Throughput>& throughput) {
  if (!throughput) return nullptr;
  OrderedJson json{
      {"samples_per_s", throughput->samples_per_s}, {"low", nullptr}, {"high", nullptr}};
  if (throughput->high > throughput->low) {
    json["low"] = throughput->low;
    json["high"] = throughput->high;
  }
  return json;
}

std::string best_json(const Best& best, const History& history,
                      const std::vector<std::string>& command) {
  OrderedJson json;
  json["schema"] = kConfigSchema;
  json["knobs"] = config_json(best.config);
  json["throughput"] = throughput_json(best.estimate.throughput);
  json["unit"] = unit_of(history.rate());
  json["tokens_per_s"] = best.tokens_per_s();
  json["joules_per_sample"] = best.estimate.joules_per_sample;
  OrderedJson& standard = json["default"];
  standard["knobs"] = config_json(history.effective(history.first_config()));
  const auto& estimate = best.default_estimate;
  standard["throughput"] = estimate ? throughput_json(estimate->throughput) : OrderedJson();
  standard["joules_per_sample"] = estimate ? estimate->joules_per_sample : std::nullopt;
  json["speedup"] = best.speedup ? OrderedJson(best.speedup->value) : OrderedJson();
  json["speedup_interval"] =
      best.speedup && best.has_interval()
          ? OrderedJson{{"low", best.speedup->low}, {"high", best.speedup->high}}
          : OrderedJson();
  json["runs"] = best.estimate.runs;
  json["confirmed"] = best.is_confirmed();
  json["peak_memory_bytes"] = best.peak_memory_bytes;
  if (best.compilation) {
    json["compile_s"] = std::chrono::duration<double>(best.compilation->time).count();
    if (best.compilation->pays_after_steps) {
      json["compile_pays_after_steps"] = *best.compilation->pays_after_steps;
    }
  }
  json["trials"] = history.trials().size();
  json["oom_trials"] = history.out_of_memory_count();
  json["command"] = without_secrets(command);
  if (best.profile) json["profile"] = profile_json(*best.profile);
  return json_text(json, 2) + "\n";
}

Result<void> write_atomically(const std::string& path, const std::string& text,
                              const char* option) {
  const auto written = write_file(path, text);
  if (written) return {};
  return tl::unexpected(
      fmt::format("{}. Give {} a file in a folder that can be written", written.error(), option));
}

}  // namespace redline::tuner
