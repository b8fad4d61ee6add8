#include "tuner/search/runnable.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tuner/search/frontier.h"

namespace redline::tuner {
namespace {

/// Chance of a value that only failed so far, for each failure.
constexpr double kFailedValue = 0.3;

}  // namespace

Runnable::Runnable(const Space& space, const SearchSettings& settings, const History& history)
    : space_(space), history_(history), affordable_batch_(find_affordable(settings)) {
  count_failed_values();
}

double Runnable::find_affordable(const SearchSettings& settings) const {
  // A figure from --metric need not be samples.
  const bool knows_samples = history_.rate() == Objective::kSamplesPerSecond;
  if (settings.longest_measurement.count() == 0 || !knows_samples) return HUGE_VAL;
  double fastest = 0, largest = 0;
  for (const FinishedTrial& trial : history_.trials()) {
    if (!trial.ok()) continue;
    fastest = std::max(fastest, trial.result.throughput->samples_per_s);
    largest = std::max(largest, batch_of(history_.effective(trial.config)));
  }
  const int readers = std::max(1, history_.first_to_run().readers);
  const double by_rate = fastest *
                         std::chrono::duration<double>(settings.longest_measurement).count() /
                         static_cast<double>(settings.steps_a_trial * readers);
  return std::max(by_rate, largest);
}

void Runnable::count_failed_values() {
  for (const Knob& knob : space_.knobs) {
    std::map<std::string, double>& chances = chances_.emplace_back();
    if (knob.name == "batch_size") continue;
    std::set<std::string> ran;
    for (const FinishedTrial& trial : history_.trials()) {
      const Config all = history_.effective(trial.config);
      const auto own = all.find(knob.name);
      if (own == all.end()) continue;
      if (trial.ok()) ran.insert(own->second);
      if (trial.ok() || trial.out_of_memory()) continue;
      chances.try_emplace(own->second, 1).first->second *= kFailedValue;
    }
    for (const std::string& value : ran) chances.erase(value);
  }
}

double Runnable::chance_of_values(const Config& config) const {
  double chance = 1;
  for (size_t i = 0; i < space_.knobs.size(); ++i) {
    if (chances_[i].empty()) continue;
    const auto own = config.find(space_.knobs[i].name);
    if (own == config.end()) continue;
    const auto failed = chances_[i].find(own->second);
    if (failed != chances_[i].end()) chance *= failed->second;
  }
  return chance;
}

bool Runnable::fits_host(const Config& config, double batch) const {
  const auto waiting = batches_in_flight(history_, config);
  if (!waiting) return true;
  for (const FinishedTrial& trial : history_.trials()) {
    if (trial.result.outcome != Outcome::kShmFull && !trial.result.not_started) continue;
    const auto then = batches_in_flight(history_, trial.config);
    const double its_batch = batch_of(history_.effective(trial.config));
    if (then && *waiting * batch >= *then * its_batch && batch >= its_batch) return false;
  }
  return true;
}

}  // namespace redline::tuner
