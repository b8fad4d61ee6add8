// The outcome of a study, and best.json (schema redline.config/1), which `redline run` reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/search/estimate.h"
#include "tuner/search/history.h"
#include "tuner/study/database.h"

namespace redline::tuner {

/// What --profile-best recorded; traces.h of command/ makes it.
struct BestProfile {
  std::string default_folder;  ///< empty: the defaults do not run, or are the best
  std::string best_folder;
  std::string diff;  ///< as `redline diff` prints it; empty without default_folder
};

/// What torch.compile cost the best configuration before its first step.
struct Compilation {
  std::chrono::nanoseconds time{0};
  /// Against the same without compilation where that was measured, else against the defaults;
  /// nothing where it gains nothing.
  std::optional<int64_t> pays_after_steps;
};

struct Best {
  Config config;     ///< what was set; empty: the script's own values
  Config effective;  ///< with the script's own values of the other knobs
  Estimate estimate;
  std::optional<uint64_t> peak_memory_bytes;
  bool is_default = false;
  /// False where a {NAME} in the command hides what the script would choose: then what is called
  /// the defaults are the values that the search began with.
  bool has_own_default = true;
  std::optional<Estimate> default_estimate;             ///< nothing where the defaults do not run
  std::optional<Ratio> speedup;                         ///< over the defaults
  std::optional<int64_t> epoch_samples = std::nullopt;  ///< of all ranks, as the hook saw it
  std::optional<double> tokens_per_sample = std::nullopt;  ///< where a sample is a sequence
  std::optional<BestProfile> profile = std::nullopt;
  std::optional<Compilation> compilation = std::nullopt;
  std::optional<Latency> latency = std::nullopt;  ///< of the last of its runs

  [[nodiscard]] std::optional<double> tokens_per_s() const {
    if (!tokens_per_sample) return std::nullopt;
    return estimate.throughput.samples_per_s * *tokens_per_sample;
  }
  [[nodiscard]] const char* default_name() const {
    return has_own_default ? "the default" : "the first trial";
  }
  /// Not where a --metric told one figure, once.
  [[nodiscard]] bool has_interval() const {
    return estimate.runs > 1 || estimate.relative_error > 0;
  }
  /// The winner of many trials is partly lucky; only a second run shows what it does without luck.
  [[nodiscard]] bool is_confirmed() const { return is_default || estimate.runs > 1; }
  /// The whole interval of the speed-up lies above 1.
  [[nodiscard]] bool proven() const {
    return speedup && !is_default && speedup->low > 1 && has_interval();
  }
};

/// Nothing where no trial succeeded.
[[nodiscard]] std::optional<Best> find_best(const History& history);

/// For example "1.71 x the default (1.55 to 1.88)". `best` must have a speed-up. The text says "the
/// first trial" instead of "the default" if the command has no default of its own, and that the
/// winner is not confirmed if it ran only once.
[[nodiscard]] std::string speedup_text(const Best& best);

/// best.json as text.
[[nodiscard]] std::string best_json(const Best& best, const History& history,
                                    const std::vector<std::string>& command);

/// write_file(), with what to do about it in the error.
[[nodiscard]] Result<void> write_atomically(const std::string& path, const std::string& text);

}  // namespace redline::tuner
