#include "tuner/search/history.h"

#include <algorithm>

#include "tuner/space/hook_knobs.h"

namespace redline::tuner {
namespace {

bool is_out_of_memory(const FinishedTrial& trial) {
  return trial.out_of_memory() && !trial.result.not_started;
}

}  // namespace

bool FinishedTrial::out_of_memory() const {
  return result.outcome == Outcome::kGpuOom || result.outcome == Outcome::kHostOom ||
         result.outcome == Outcome::kShmFull || result.outcome == Outcome::kThrash;
}

bool tells_ranks(const TrialResult& result) {
  return result.outcome == Outcome::kOk || result.outcome == Outcome::kInvalid;
}

void learn_from(const FinishedTrial& trial, Space& space) {
  if (tells_ranks(trial.result)) space.learn_ranks(trial.result.readers);
  space.knows_ranks |= trial.ok();
  // DDP's knobs had joined the space of the search whose study is read here.
  const bool has_ddp_knobs = std::ranges::any_of(trial.config, [&space](const auto& entry) {
    const HookKnob* hook = find_hook_knob(entry.first);
    return hook && hook->needs_ranks && !space.find(entry.first);
  });
  if (has_ddp_knobs) space.add_ddp_knobs();
  std::map<std::string, std::string> unused = trial.result.unused;
  const auto workers = trial.result.observed.find("num_workers");
  if (workers != trial.result.observed.end() && workers->second == "0" &&
      !space.find("num_workers")) {
    for (const HookKnob& knob : hook_knobs()) {
      if (knob.needs_workers) unused.emplace(knob.name, "the DataLoader has no workers");
    }
  }
  for (const auto& [knob, limit] : trial.result.limits) {
    if (space.in_command.contains(knob)) continue;  // the limit is the hook's
    space.most[knob] = limit.most;
    if (!space.limit(knob, limit.most, limit.why)) unused.emplace(knob, limit.why);
  }
  space.leave_out(unused);
  // With --global-batch the batch sizes are its divisors already.
  if (trial.result.epoch_samples && !space.samples_a_step) {
    const int64_t samples = *trial.result.epoch_samples / std::max(1, trial.result.readers);
    space.limit("batch_size", std::max<int64_t>(samples, 1), "an epoch has no more");
  }
}

void History::add(FinishedTrial trial) {
  trials_.push_back(std::move(trial));
  const FinishedTrial& added = trials_.back();
  const size_t known = defaults_.size();
  // These are the defaults. A run that failed early told little, and a later run tells the rest.
  if (added.config == trials_.front().config) {
    defaults_.insert(added.result.observed.begin(), added.result.observed.end());
  }
  if (defaults_.size() != known) canonical_.clear();
  refresh();
}

void History::refresh() {
  Cuts cuts{space_->dropped, space_->most, space_->samples_a_step};
  if (cuts != cuts_) canonical_.clear();
  cuts_ = std::move(cuts);
  while (canonical_.size() < trials_.size()) {
    canonical_.push_back(canonical(trials_[canonical_.size()].config));
  }
}

const TrialResult& History::first_to_run() const {
  const auto ran = std::ranges::find_if(trials_, &FinishedTrial::ok);
  return (ran == trials_.end() ? trials_.front() : *ran).result;
}

Config History::effective(const Config& config) const {
  Config all = config;
  for (const auto& [name, value] : defaults()) {
    if (space_->find(name)) all.emplace(name, value);
  }
  return all;
}

bool History::may_be_chance(const FinishedTrial& trial) const {
  if (trial.result.outcome == Outcome::kCrash) return !trial.result.is_certain;
  return trial.result.outcome == Outcome::kNanLoss && trial.config == trials_.front().config;
}

std::vector<const FinishedTrial*> History::runs_of(const Config& config) const {
  const Config wanted = canonical(config);
  std::vector<const FinishedTrial*> runs;
  for (size_t i = 0; i < trials_.size(); ++i) {
    const FinishedTrial& trial = trials_[i];
    if (canonical_[i] != wanted) continue;
    if (!runs.empty() && may_be_chance(*runs.back())) runs.pop_back();
    // If the defaults ran once, they can run, whatever a later loss was.
    if (!runs.empty() && may_be_chance(trial) && trial.result.outcome == Outcome::kNanLoss)
      continue;
    runs.push_back(&trial);
  }
  return runs;
}

std::vector<Config> History::configs() const {
  std::vector<Config> result;
  for (const Config& config : canonical_) {
    if (std::ranges::find(result, config) == result.end()) result.push_back(config);
  }
  return result;
}

std::vector<Config> History::configs_that_ran() const {
  std::vector<Config> result = configs();
  std::erase_if(result, [&](const Config& config) {
    const auto runs = runs_of(config);
    return runs.empty() || !std::ranges::all_of(runs, [](const auto* run) { return run->ok(); });
  });
  return result;
}

const FinishedTrial* History::crash_to_retry() const {
  for (auto trial = trials_.begin(); trial != trials_.end(); ++trial) {
    if (!may_be_chance(*trial)) continue;
    const auto same = [&](const FinishedTrial& other) { return other.config == trial->config; };
    const bool ran_before = std::any_of(trials_.begin(), trial, [&](const auto& other) {
      return same(other) && may_be_chance(other);
    });
    if (!ran_before && std::none_of(trial + 1, trials_.end(), same)) return &*trial;
  }
  return nullptr;
}

std::chrono::nanoseconds time_used(const std::vector<FinishedTrial>& trials) {
  std::chrono::nanoseconds used{0};
  for (const FinishedTrial& trial : trials) {
    used += trial.result.wall / (1 + trial.result.neighbours);
  }
  return used;
}

Objective History::rate() const {
  return objective_ == Objective::kSamplesPerJoule ? Objective::kSamplesPerSecond : objective_;
}

bool History::ran_side_by_side() const {
  return std::ranges::any_of(
      trials_, [](const FinishedTrial& trial) { return trial.result.neighbours > 0; });
}

int64_t History::out_of_memory_count() const {
  return std::ranges::count_if(trials_, is_out_of_memory);
}

int64_t History::failed_risks() const {
  return std::count_if(std::ranges::find_if(trials_, &FinishedTrial::ok), trials_.end(),
                       is_out_of_memory);
}

}  // namespace redline::tuner
