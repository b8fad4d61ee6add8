// The outcome of a study, and best.json (schema redline.config/1), which `redline run` reads.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tuner/search/estimate.h"
#include "tuner/search/history.h"
#include "tuner/study/database.h"

namespace redline::tuner {

/// What --profile-best recorded; traces.h of command/ makes it.
struct BestProfile {
  std::string default_folder;  ///< empty if the defaults do not run or are the best
  std::string best_folder;
  std::string diff;  ///< the output of `redline diff`; empty without default_folder
};

/// What torch.compile cost the best configuration before its first step.
struct Compilation {
  std::chrono::nanoseconds time{0};
  /// After how many steps it has paid, as far as it took longer than that of the same configuration
  /// without the knob, if that was measured, else of the defaults. nullopt if it gains nothing.
  std::optional<int64_t> pays_after_steps;
};

struct Best {
  Config config;     ///< the knobs that were set; empty: the script's own values
  Config effective;  ///< `config` with the script's own values of the other knobs
  Estimate estimate;
  std::optional<uint64_t> peak_memory_bytes;
  std::optional<uint64_t> memory_capacity_bytes;  ///< of the GPU
  bool is_default = false;
  /// False if a {NAME} in the command hides what the script would choose. The "defaults" are then
  /// the values with which the search began.
  bool has_own_default = true;
  std::optional<Estimate> default_estimate;  ///< nullopt if the defaults do not run
  std::optional<Ratio> speedup;              ///< over the defaults
  int64_t step_samples = 0;                  ///< of all ranks together; 0: not counted
  int64_t default_step_samples = 0;
  /// Of all ranks together, as the hook saw it.
  std::optional<int64_t> epoch_samples = std::nullopt;
  std::optional<double> tokens_per_sample = std::nullopt;  ///< nullopt if samples are not sequences
  std::optional<BestProfile> profile = std::nullopt;
  std::optional<Compilation> compilation = std::nullopt;
  std::optional<Latency> latency = std::nullopt;  ///< of its last run
  bool has_disturbed_runs = false;                ///< which do not count where others do

  [[nodiscard]] std::optional<double> tokens_per_s() const {
    if (!tokens_per_sample) return std::nullopt;
    return estimate.throughput.samples_per_s * *tokens_per_sample;
  }
  [[nodiscard]] const char* default_name() const {
    return has_own_default ? "the default" : "the first trial";
  }
  /// False if a single run gave a single figure by --metric.
  [[nodiscard]] bool has_interval() const { return estimate.score.high > estimate.score.low; }
  /// The winner of many trials is partly lucky; only a second run shows what it does without luck.
  /// Of trials that ran side by side only the confirming run counts.
  [[nodiscard]] bool is_confirmed() const {
    return is_default || estimate.runs > 1 || estimate.has_confirming_run;
  }
  /// What is said behind its speed-up, or that the defaults do not run; empty if it is confirmed.
  [[nodiscard]] const char* doubt() const {
    if (is_confirmed()) return "";
    return has_disturbed_runs ? ", not confirmed: it ran once undisturbed"
                              : ", not confirmed: it ran once";
  }
  /// Whether the whole interval of the speed-up lies above 1.
  [[nodiscard]] bool proven() const {
    return speedup && !is_default && speedup->low > 1 && has_interval();
  }
};

/// nullopt if no trial succeeded.
[[nodiscard]] std::optional<Best> find_best(const History& history);

/// For example "1.71 x the default (1.55 to 1.88)", "the default itself" or "the default does not
/// run". The text says "the first trial" instead of "the default" if the command has no default of
/// its own, and that the winner is not confirmed if it ran only once.
[[nodiscard]] std::string verdict_text(const Best& best);

/// {"samples_per_s", "low", "high"}, or null. A figure without an interval has null for both ends.
[[nodiscard]] nlohmann::ordered_json throughput_json(const std::optional<Throughput>& throughput);

/// best.json as text, without the secrets of the command.
[[nodiscard]] std::string best_json(const Best& best, const History& history,
                                    const std::vector<std::string>& command);

/// write_file(), whose error also says what to do. `option` says where the file goes.
[[nodiscard]] Result<void> write_atomically(const std::string& path, const std::string& text,
                                            const char* option = "-o");

}  // namespace redline::tuner
