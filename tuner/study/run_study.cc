#include "tuner/study/run_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "tuner/search/frontier.h"
#include "tuner/space/hook_knobs.h"
#include "tuner/trial/trial_threads.h"

namespace redline::tuner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookForSignal{50};
// How long to wait while other processes run trials.
constexpr std::chrono::milliseconds kAskAgain{500};

/// Whether the job infers, as the first measured trial has shown.
std::optional<bool> infers(const History& history) {
  const auto& trials = history.trials();
  const auto measured = std::ranges::find_if(
      trials, [](const FinishedTrial& trial) { return trial.ok() && trial.result.steps > 0; });
  if (measured == trials.end()) return std::nullopt;
  return measured->result.infers;
}

/// The fastest of the trials that ran beside others, by the lower end of its interval.
std::optional<double> best_beside_others(const History& history) {
  std::optional<double> best;
  for (const Config& config : history.configs_that_ran()) {
    for (const FinishedTrial* run : history.runs_of(config)) {
      if (run->result.neighbours == 0) continue;
      best = std::max(best.value_or(0), run->result.throughput->low);
    }
  }
  return best;
}

/// The rate that a trial must reach to be worth its full time. The finalists' runs have none,
/// because they are compared with each other over their full time. What runs `beside` others need
/// not beat what ran alone.
std::optional<double> rate_to_beat(const History& history, const Proposal& proposal,
                                   const TrialSpec& prototype, bool beside) {
  if (proposal.why == kConfirm) return std::nullopt;
  // A slower configuration may take less energy.
  if (prototype.objective != Objective::kSamplesPerSecond &&
      prototype.objective != Objective::kStepsPerSecond) {
    return std::nullopt;
  }
  if (beside) return best_beside_others(history);
  const std::optional<Config> best = best_config(history);
  if (!best) return std::nullopt;
  const auto incumbent = estimate(history, *best, spread_between_runs(history));
  return incumbent ? std::optional(incumbent->throughput.low) : std::nullopt;
}

/// A knob of any name may change what a step takes. Then the step's rate says nothing of its speed.
void refuse_other_steps(TrialResult& result, const History& history) {
  if (history.rate() != Objective::kStepsPerSecond) return;
  for (const char* name : kKnobsOfStepSize) {
    const auto usual = history.defaults().find(name);
    const auto own = result.observed.find(name);
    if (usual == history.defaults().end() || own == result.observed.end()) continue;
    if (usual->second == own->second) continue;
    result.outcome = Outcome::kInvalid;
    result.throughput.reset();
    result.message =
        fmt::format("{} was {}, and {} with the defaults: steps of other sizes are not compared",
                    name, own->second, usual->second);
  }
}

class StudyRun {
 public:
  explicit StudyRun(StudyParts parts) : parts_(std::move(parts)), threads_(parts_.run_trial) {}

  Result<StudyEnd> to_its_end() {
    for (;;) {
      const StopRequest stop = parts_.stop.load();
      threads_.stop(stop);
      if (stop == StopRequest::kNone && Clock::now() >= ask_at_) {
        if (auto filled = fill_shares(); !filled) return tl::unexpected(filled.error());
      }
      if (threads_.running() == 0) {
        if (stop != StopRequest::kNone) return StudyEnd::kStopped;
        if (!others_run_) return StudyEnd::kFinished;
      }
      if (auto event = threads_.next(kLookForSignal)) {
        if (auto taken = take(*event); !taken) return tl::unexpected(taken.error());
      }
      if (auto beaten = beat(); !beaten) return tl::unexpected(beaten.error());
    }
  }

 private:
  struct Own {
    size_t share;
    int neighbours;
    std::optional<Expectation> expected;
  };

  [[nodiscard]] std::optional<size_t> free_share() const {
    for (size_t share = 0; share < parts_.shares.size(); ++share) {
      const bool taken =
          std::ranges::any_of(own_, [&](const auto& entry) { return entry.second.share == share; });
      if (!taken) return share;
    }
    return std::nullopt;
  }

  Result<void> fill_shares() {
    // Waits until a trial ends here or, while other processes run some, for a while.
    ask_at_ = Clock::time_point::max();
    while (const std::optional<size_t> share = free_share()) {
      const auto claim = claim_what([this](const std::vector<Proposal>& running) {
        return parts_.plan.next(parts_.history, running);
      });
      if (!claim) return tl::unexpected(claim.error());
      others_run_ = claim->running.size() > own_.size() + (claim->mine ? 1 : 0);
      if (others_run_) ask_at_ = Clock::now() + kAskAgain;
      if (!claim->mine) break;
      start(*share, *claim->mine, static_cast<int>(claim->running.size()) - 1);
    }
    return {};
  }

  template <typename Ask>
  Result<Study::Claim> claim_what(const Ask& ask) {
    auto claim = parts_.study.claim(
        parts_.history.trials().size(), [this](FinishedTrial trial) { add(std::move(trial)); },
        ask);
    if (claim) note_neighbours(static_cast<int>(claim->running.size()) - 1, INT64_MAX);
    return claim;
  }

  /// Another process may have started trials since this one has asked for its own.
  Result<void> note_others() {
    const auto claim =
        claim_what([](const std::vector<Proposal>&) -> std::optional<Proposal> { return {}; });
    if (!claim) return tl::unexpected(claim.error());
    return {};
  }

  /// Of the own trials that started before trial `later`.
  void note_neighbours(int count, int64_t later) {
    for (auto& [id, own] : own_) {
      if (id < later) own.neighbours = std::max(own.neighbours, count);
    }
  }

  void start(size_t share, const RunningTrial& trial, int neighbours) {
    own_[trial.id] = {share, neighbours, trial.proposal.expected};
    parts_.observer.trial_started(trial.id, trial.proposal);
    TrialSpec spec = parts_.prototype;
    spec.id = trial.id;
    spec.config = trial.proposal.config;
    const bool beside = parts_.shares.size() > 1 || neighbours > 0;
    spec.rate_to_beat = rate_to_beat(parts_.history, trial.proposal, parts_.prototype, beside);
    spec.infers = infers(parts_.history);
    if (trial.proposal.why != kConfirm && !parts_.prototype.slurm) {
      spec.expected_use = predict_host_use(parts_.history, trial.proposal.config);
    }
    spec.directory = parts_.study.trial_directory(trial.id);
    spec.share = parts_.shares[share];
    threads_.start(share, std::move(spec));
  }

  Result<void> take(TrialThreads::Event& event) {
    if (const auto* progress = std::get_if<TrialProgress>(&event.what)) {
      parts_.observer.trial_progress(event.id, *progress);
      return {};
    }
    TrialResult& result = std::get<TrialResult>(event.what);
    if (auto noted = note_others(); !noted) return noted;
    result.neighbours = own_.at(event.id).neighbours;
    result.expected = own_.at(event.id).expected;
    own_.erase(event.id);
    ask_at_ = {};
    if (result.outcome == Outcome::kOk) refuse_other_steps(result, parts_.history);
    const bool misled = tells_ranks(result) && parts_.space.learn_ranks(result.readers);
    if (misled) parts_.history.refresh();
    if (result.outcome == Outcome::kCancelled || misled) return parts_.study.interrupt(event.id);
    if (auto kept = parts_.study.finish(event.id, result); !kept) return kept;
    return catch_up();
  }

  /// Adds the trials that this process and others have finished.
  Result<void> catch_up() {
    Result<std::vector<FinishedTrial>> news = parts_.study.finished(parts_.history.trials().size());
    if (!news) return tl::unexpected(news.error());
    for (FinishedTrial& trial : *news) add(std::move(trial));
    return {};
  }

  void add(FinishedTrial trial) {
    note_neighbours(1, trial.id);
    learn_from(trial, parts_.space);
    parts_.history.add(std::move(trial));
    parts_.observer.trial_finished(parts_.history);
  }

  Result<void> beat() {
    if (own_.empty() || (Clock::now() - last_beat_).count() < Claims::kBeatEveryNs) return {};
    last_beat_ = Clock::now();
    return parts_.study.beat();
  }

  const StudyParts parts_;
  TrialThreads threads_;
  std::map<int64_t, Own> own_;  // by trial
  bool others_run_ = false;
  Clock::time_point ask_at_;
  Clock::time_point last_beat_ = Clock::now();
};

}  // namespace

Result<StudyEnd> run_study(StudyParts parts) { return StudyRun(std::move(parts)).to_its_end(); }

}  // namespace redline::tuner
