#include "tuner/search/runnable.h"

#include <algorithm>
#include <cmath>

#include "tuner/search/frontier.h"

namespace redline::tuner {
namespace {

/// Chance of a value that only failed so far, for each failure.
constexpr double kFailedValue = 0.3;

}  // namespace

Runnable::Runnable(const Space& space, const SearchSettings& settings, const History& history)
    : space_(space), history_(history), affordable_batch_(find_affordable(settings)) {}

double Runnable::find_affordable(const SearchSettings& settings) const {
  // A figure from --metric need not be samples.
  const bool knows_samples = history_.rate() == Objective::kSamplesPerSecond;
  if (settings.longest_measurement.count() == 0 || !knows_samples) return HUGE_VAL;
  double fastest = 0;
  for (const FinishedTrial& trial : history_.trials()) {
    if (trial.ok()) fastest = std::max(fastest, trial.result.throughput->samples_per_s);
  }
  const int ranks = std::max(1, history_.trials().front().result.ranks);
  return fastest * std::chrono::duration<double>(settings.longest_measurement).count() /
         static_cast<double>(settings.steps_a_trial * ranks);
}

double Runnable::chance_of_values(const Config& config) const {
  double chance = 1;
  for (const Knob& knob : space_.knobs) {
    const auto own = config.find(knob.name);
    if (own == config.end() || knob.name == "batch_size") continue;
    int failures = 0;
    bool ran = false;
    for (const FinishedTrial& trial : history_.trials()) {
      const Config all = history_.effective(trial.config);
      const auto its = all.find(knob.name);
      if (its == all.end() || its->second != own->second) continue;
      ran |= trial.ok();
      failures += !trial.ok() && !trial.out_of_memory();
    }
    if (!ran) chance *= std::pow(kFailedValue, failures);
  }
  return chance;
}

bool Runnable::fits_host(const Config& config, double batch) const {
  const auto waiting = batches_in_flight(history_, config);
  if (!waiting) return true;
  for (const FinishedTrial& trial : history_.trials()) {
    if (trial.result.outcome != Outcome::kShmFull && !trial.result.not_started) continue;
    const auto then = batches_in_flight(history_, trial.config);
    const double its_batch = batch_of(trial.config);
    if (then && *waiting * batch >= *then * its_batch && batch >= its_batch) return false;
  }
  return true;
}

double Runnable::batch_of(const Config& config) const {
  const auto batch = number_of(history_.effective(config), "batch_size");
  return std::max(1.0, static_cast<double>(batch.value_or(1)));
}

}  // namespace redline::tuner
