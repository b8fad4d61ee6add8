#include "tuner/history.h"

#include <algorithm>

namespace redline::tuner {

bool FinishedTrial::out_of_memory() const {
  return result.outcome == Outcome::kGpuOom || result.outcome == Outcome::kHostOom ||
         result.outcome == Outcome::kShmFull || result.outcome == Outcome::kThrash;
}

Config History::defaults() const { return trials_.empty() ? Config{} : trials_[0].result.observed; }

Config History::effective(const Config& config) const {
  Config all = config;
  for (const auto& [name, value] : defaults()) {
    if (space_->find(name)) all.emplace(name, value);
  }
  return all;
}

std::vector<const FinishedTrial*> History::runs_of(const Config& config) const {
  const Config wanted = canonical(config);
  std::vector<const FinishedTrial*> runs;
  for (const FinishedTrial& trial : trials_) {
    if (canonical(trial.config) != wanted) continue;
    if (!runs.empty() && runs.back()->result.outcome == Outcome::kCrash) runs.pop_back();
    runs.push_back(&trial);
  }
  return runs;
}

std::vector<Config> History::configs() const {
  std::vector<Config> result;
  for (const FinishedTrial& trial : trials_) {
    const Config config = canonical(trial.config);
    if (std::find(result.begin(), result.end(), config) == result.end()) result.push_back(config);
  }
  return result;
}

const FinishedTrial* History::crash_to_retry() const {
  if (trials_.empty() || trials_.back().result.outcome != Outcome::kCrash) return nullptr;
  const FinishedTrial& last = trials_.back();
  const auto crashes = std::count_if(trials_.begin(), trials_.end(), [&](const auto& trial) {
    return trial.config == last.config && trial.result.outcome == Outcome::kCrash;
  });
  return crashes == 1 ? &last : nullptr;
}

int64_t History::out_of_memory_count() const {
  return std::count_if(trials_.begin(), trials_.end(),
                       [](const FinishedTrial& trial) { return trial.out_of_memory(); });
}

}  // namespace redline::tuner
