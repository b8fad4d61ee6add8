#include "tuner/search/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/format.h"
#include "base/statistics.h"
#include "tuner/search/memory_model.h"
#include "tuner/search/normal_distribution.h"
#include "tuner/search/search_words.h"

namespace redline::tuner {
namespace {

constexpr int kMostFinalists = 3;  ///< not counting the defaults
/// Share of the fastest rate; between closer ones noise may decide.
constexpr double kContender = 0.95;
/// The rates, as shares of the fastest, that are assumed for trials that still run. First it is
/// assumed that they neither win nor rule out a direction. If this leaves nothing to ask, it is
/// assumed that they win, and the search goes on from them.
constexpr double kExpected[] = {0.98, 1.05};
constexpr size_t kFewestBeforeTarget = 3;  ///< trials; fewer do not show a slope
constexpr int kTrialsOfShortStudy = 10;
constexpr int kTrialsOfLongStudy = 30;

bool has_success(const History& history) {
  return std::ranges::any_of(history.trials(), &FinishedTrial::ok);
}

/// How many of all trials that fit are kept for confirmation.
int confirming_trials(int total) {
  if (total < 5) return 0;
  if (total <= kTrialsOfShortStudy) return 2;
  return total <= kTrialsOfLongStudy ? 4 : 8;
}

/// The rate of the fastest run that explored; confirmation rules out candidates but does not
/// reorder them. 0 if none ran beside others, or alone.
double exploring_rate(const std::vector<const FinishedTrial*>& runs, bool alone) {
  double fastest = 0;
  for (const FinishedTrial* run : runs) {
    if (run->confirms() || (run->result.neighbours == 0) != alone) continue;
    fastest = std::max(fastest, run->score().samples_per_s);
  }
  return fastest;
}

struct Ranked {
  Config config;
  double alone = 0, beside = 0;  ///< exploring_rate()
  double share = 0;              ///< of the fastest
};

std::vector<Ranked> by_exploring_rate(const History& history) {
  std::vector<Ranked> ranked;
  double fastest = 0, beside = 0;
  // A configuration that ran once and later ran out of memory is too close to the limit for a long
  // job.
  for (const Config& config : history.configs_that_ran()) {
    const auto runs = history.runs_of(config);
    ranked.push_back({config, exploring_rate(runs, true), exploring_rate(runs, false)});
    beside = std::max(beside, ranked.back().beside);
    fastest = std::max({fastest, ranked.back().alone, beside});
  }
  // Nobody knows what neighbours cost. So the fastest that had some counts as much as one that had
  // none and was faster: both are confirmed, which decides.
  for (Ranked& entry : ranked) {
    if (fastest > 0) entry.share = entry.alone / fastest;
    if (beside > 0) entry.share = std::max(entry.share, entry.beside / beside);
  }
  std::ranges::stable_sort(ranked, std::greater(), [](const Ranked& entry) {
    return std::pair(entry.share, entry.beside);
  });
  return ranked;
}

/// How often each finalist runs at most, if the fastest beats the defaults.
int usual_runs(size_t finalists) {
  return 1 + (finalists > 2 ? 12 : 8) / static_cast<int>(finalists);
}
constexpr int kMoreRuns = 4;
/// Rivals are as good as each other if taking the wrong one is expected to cost no more than this.
constexpr double kAsGood = 0.01;
/// How often the winner runs if its memory is nearly full.
constexpr int kRunsNearFull = 4;

/// The fastest configuration, the defaults, and then those that come close to the fastest.
std::vector<Config> finalists(const History& history, int trials_for_them) {
  const std::vector<Ranked> ranked = by_exploring_rate(history);
  if (ranked.empty()) return {};
  const Config first = history.first_config();
  std::vector<Config> result = {ranked.front().config};
  const bool first_ran = std::ranges::find(ranked, first, &Ranked::config) != ranked.end();
  if (ranked.front().config != first && first_ran) result.push_back(first);
  const auto most = static_cast<size_t>(std::min(trials_for_them, kMostFinalists + 1));
  for (const Ranked& entry : ranked) {
    if (result.size() >= most || entry.share < kContender * ranked.front().share) break;
    if (std::ranges::find(result, entry.config) == result.end()) {
      result.push_back(entry.config);
    }
  }
  return result;
}

/// Whether a run took nearly all memory, or a batch size up to twice its own ran out of memory;
/// then this one may run out of memory another time. Of /dev/shm it has as much in each run, and a
/// trial that was not started tells nothing of memory.
bool is_near_full(const History& history, const Config& config,
                  std::optional<uint64_t> memory_limit_bytes) {
  const auto took_nearly_all = [&](const FinishedTrial* run) {
    const auto& limit = memory_limit_bytes ? memory_limit_bytes : run->result.memory_capacity_bytes;
    return limit && static_cast<double>(run->result.peak_memory_bytes.value_or(0)) >
                        kThrashing * static_cast<double>(*limit);
  };
  if (std::ranges::any_of(history.runs_of(config), took_nearly_all)) return true;
  const auto batch_of = [&](const Config& any) {
    return number_of(history.effective(any), "batch_size");
  };
  const auto own = batch_of(config);
  return own && std::ranges::any_of(history.trials(), [&](const FinishedTrial& trial) {
           if (!trial.out_of_memory() || trial.result.not_started) return false;
           const auto its = batch_of(trial.config);
           return trial.result.outcome != Outcome::kShmFull && its && *its <= 2 * *own;
         });
}

/// What the finalists' runs so far show together.
struct Standing {
  Config fastest;
  bool beats_defaults = true;  ///< the fastest beats the defaults by more than noise, or is them
  bool beats_rivals = true;    ///< it beats the others by more than noise, or is as good as they
};

/// The share of the rate that is expected to be lost if the faster of two configurations is taken,
/// although the other one may be faster.
double expected_loss(const Ratio& faster_to_other) {
  constexpr double kDeviations = 2 * kNormalQuantile;  ///< the width of a 95 % interval
  const double deviation = std::log(faster_to_other.high / faster_to_other.low) / kDeviations;
  return expected_above_zero(-std::log(faster_to_other.value), deviation);
}

Standing standing_of(const History& history, const std::vector<Config>& group) {
  const RunSpread spread = spread_between_runs(history);
  std::vector<std::pair<Config, Estimate>> entries;
  for (const Config& config : group) {
    if (const auto entry = estimate(history, config, spread)) entries.emplace_back(config, *entry);
  }
  const auto rate = [](const auto& entry) { return entry.second.score.samples_per_s; };
  const auto fastest = std::ranges::max_element(entries, {}, rate);
  const Config first = history.first_config();
  Standing standing{.fastest = fastest->first};
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    const Ratio lead = ratio(fastest->second, entry->second, spread);
    if (entry == fastest || lead.low > 1) continue;
    if (entry->first == first) standing.beats_defaults = false;
    if (expected_loss(lead) > kAsGood) standing.beats_rivals = false;
  }
  return standing;
}

/// Confirms in rounds. Rivals run again while taking the wrong one may cost something, most often
/// while the interval of the speed-up includes 1. A clear winner ends this soon; it alone runs
/// again where its memory is nearly full.
std::optional<Proposal> next_confirmation(const History& history, int trials_left,
                                          std::optional<uint64_t> memory_limit_bytes) {
  const auto confirmed =
      static_cast<int>(std::ranges::count_if(history.trials(), &FinishedTrial::confirms));
  const std::vector<Config> group = finalists(history, confirmed + trials_left);
  // The defaults alone have won against nobody.
  const Config first = history.first_config();
  if (group.empty() || group == std::vector{first}) return std::nullopt;
  // A run after a crash or "once more" is none of a round. It may have had others beside it, and
  // best_config() wants a confirming run.
  const auto runs_of = [&](const Config& config) {
    const auto runs = history.runs_of(config);
    return 1 + static_cast<int>(std::ranges::count_if(runs, &FinishedTrial::confirms));
  };
  const Config& least_run = *std::ranges::min_element(group, {}, runs_of);
  const int runs = runs_of(least_run);
  if (runs == 1) return Proposal{least_run, kConfirm};
  const Standing standing = standing_of(history, group);
  const bool near_full = is_near_full(history, standing.fastest, memory_limit_bytes);
  const bool round_is_whole = std::ranges::all_of(group, [&](const Config& config) {
    return runs_of(config) == runs || (near_full && config == standing.fastest);
  });
  if (!round_is_whole) return Proposal{least_run, kConfirm};
  if (standing.beats_defaults && standing.beats_rivals) {
    if (!near_full || runs_of(standing.fastest) >= kRunsNearFull) return std::nullopt;
    return Proposal{standing.fastest, kConfirm};
  }
  const int most = usual_runs(group.size()) + (standing.beats_defaults ? 0 : kMoreRuns);
  return runs < most ? std::optional(Proposal{least_run, kConfirm}) : std::nullopt;
}

/// `history` as it may be when the running trials have ended; nullopt if no trial has succeeded
/// yet.
std::optional<History> assume(const History& history, const std::vector<Proposal>& running,
                              double expected) {
  const FinishedTrial* best = nullptr;
  // Running trials have neighbours. One that had none may be faster only because of that.
  const auto rank = [](const FinishedTrial& trial) {
    return std::pair(trial.result.neighbours > 0, trial.score().samples_per_s);
  };
  for (const FinishedTrial& trial : history.trials()) {
    if (trial.ok() && (!best || rank(trial) > rank(*best))) best = &trial;
  }
  if (!best) return std::nullopt;
  History assumed = history;
  for (const Proposal& trial : running) {
    TrialResult result;
    result.outcome = Outcome::kOk;
    const double rate = expected * best->score().samples_per_s;
    result.throughput = {.samples_per_s = rate, .low = rate, .high = rate};
    if (best->result.samples_per_joule) result.samples_per_joule = result.throughput;
    result.wall = best->result.wall;
    result.ranks = best->result.ranks;
    result.readers = best->result.readers;
    result.neighbours = static_cast<int>(running.size());
    assumed.add({.id = 0, .config = trial.config, .why = trial.why, .result = std::move(result)});
  }
  return assumed;
}

/// A sentence with the choices of --knob that no trial had; empty if there are none. Numbers are
/// left out, because a search shall not try each of them.
std::string untried_choices(const Space& space, const History& history) {
  std::vector<std::string> untried;
  for (const Knob& knob : space.knobs) {
    if (!space.asked.contains(knob.name) || knob.is_numeric()) continue;
    for (const std::string& value : knob.values) {
      const auto has_it = [&](const FinishedTrial& trial) {
        return value_of(history.effective(trial.config), knob.name) == value;
      };
      if (std::ranges::none_of(history.trials(), has_it))
        untried.push_back(knob.name + "=" + value);
    }
  }
  if (untried.empty()) return "";
  return fmt::format("Not tried before the budget ended: {}.", fmt::join(untried, ", "));
}

}  // namespace

std::optional<int> Plan::trials_left(const History& history) const {
  if (history.empty()) return std::nullopt;
  std::vector<std::chrono::nanoseconds> walls;
  for (const FinishedTrial& trial : history.trials()) {
    if (trial.ok()) walls.push_back(trial.result.wall);
  }
  if (walls.empty()) walls.push_back(history.trials().back().result.wall);
  const auto typical = std::max(upper_median(std::move(walls)), std::chrono::nanoseconds(1));

  const auto left = std::max(budget_.time - history.time_used(), std::chrono::nanoseconds(0));
  int64_t trials = std::min<int64_t>(left / typical, 1'000'000);
  if (budget_.max_trials > 0) {
    trials = std::min<int64_t>(trials, budget_.max_trials - std::ssize(history.trials()));
  }
  return static_cast<int>(std::max<int64_t>(trials, 0));
}

std::optional<Proposal> Plan::next(const History& history) const {
  if (!space_.unread.empty()) return std::nullopt;
  if (history.empty()) return Proposal{space_.first, space_.first.empty() ? "default" : "first"};
  const int left = *trials_left(history);
  if (left == 0) return std::nullopt;
  if (const FinishedTrial* crashed = history.crash_to_retry()) {
    const bool nan = crashed->result.outcome == Outcome::kNanLoss;
    return Proposal{crashed->config, nan ? "once more after NaN" : "once more after a crash"};
  }
  // The command itself is wrong, so no configuration can tell more.
  if (!has_success(history) && !history.trials().front().out_of_memory()) return std::nullopt;

  // When the finalists are confirmed, the search goes on with what is left of the budget. It keeps
  // one trial, because what wins then must be confirmed, too.
  const bool confirming = std::ranges::any_of(history.trials(), &FinishedTrial::confirms);
  const int total = left + static_cast<int>(history.trials().size());
  std::optional<Proposal> confirmation = next_confirmation(history, left, memory_limit_bytes_);
  const bool exploring =
      confirmation ? !confirming && left > confirming_trials(total) : left > (confirming ? 1 : 0);
  if (exploring && !reached_target(history)) {
    if (std::optional<Proposal> proposal = strategy_.ask(history)) return proposal;
  }
  return confirmation;
}

std::optional<double> Plan::possible_gain(const History& history) const {
  History explored(space_, history.objective());
  const auto& trials = history.trials();
  const auto confirming =
      std::find_if_not(trials.rbegin(), trials.rend(), std::mem_fn(&FinishedTrial::confirms))
          .base();
  for (auto trial = trials.begin(); trial != confirming; ++trial) explored.add(*trial);
  if (explored.trials().size() < kFewestBeforeTarget) return std::nullopt;
  return strategy_.possible_gain(explored);
}

bool Plan::reached_target(const History& history) const {
  if (!budget_.target) return false;
  const std::optional<double> gain = possible_gain(history);
  return gain && *gain <= *budget_.target;
}

/// Why a search could not go on with its trials.
std::string Plan::used_before(const History& history) const {
  const auto trials = std::ssize(history.trials());
  if (budget_.max_trials > 0 && trials >= budget_.max_trials) {
    return fmt::format("--max-trials {} counts the {} there already: give more to go on.",
                       budget_.max_trials, format_plural(trials, "trial"));
  }
  return fmt::format(
      "The budget of {} counts the {} of the trials that are there: give a larger --budget to go "
      "on.",
      format_wait(budget_.time), format_wait(history.time_used()));
}

std::string Plan::why_ended(const History& history, size_t known) const {
  if (!has_success(history)) return "";
  std::string text;
  const bool is_used = *trials_left(history) == 0;
  if (is_used && history.trials().size() == known) {
    text = used_before(history);
  } else if (!is_used) {
    text = reached_target(history) ? "The target is reached."
           : strategy_.ask(history)
               ? "The winner is confirmed, and one more trial could not confirm another one."
               : strategy_.why_ended(history);
  }
  if (text.empty() && history.trials().size() == 1 && budget_.max_trials != 1) {
    return "The budget has no time for a second trial, so nothing is compared. Give a longer "
           "--budget.";
  }
  const std::string unconfirmed = is_used ? unconfirmed_text(history) : "";
  const std::string untried = is_used ? untried_choices(space_, history) : "";
  for (const std::string& also : {unconfirmed, untried}) {
    text += (text.empty() || also.empty() ? "" : " ") + also;
  }
  // Without a certain best nothing can be said of how much more there may be.
  if (!unconfirmed.empty() || (text.empty() && !budget_.target)) return text;
  const std::optional<double> gain = possible_gain(history);
  if (!gain || text == kSpaceIsUsedUp) return text;
  return text + (text.empty() ? "" : " ") +
         fmt::format("More time could bring at most {:.0f} % more.",
                     std::max(1.0, std::ceil(100 * *gain)));
}

std::optional<Proposal> Plan::next(const History& history,
                                   const std::vector<Proposal>& running) const {
  if (running.empty()) return next(history);
  const Config first = history.canonical(space_.first);
  for (const Proposal& trial : running) {
    if (trial.why == kConfirm || history.canonical(trial.config) == first) return std::nullopt;
  }
  for (const double expected : kExpected) {
    const std::optional<History> assumed = assume(history, running, expected);
    if (!assumed) return std::nullopt;
    std::optional<Proposal> proposal = next(*assumed);
    if (proposal && proposal->why != kConfirm) return proposal;
  }
  return std::nullopt;
}

std::optional<Config> best_config(const History& history) {
  if (history.empty()) return std::nullopt;
  const RunSpread spread = spread_between_runs(history);
  const Config first = history.first_config();
  std::optional<Config> fastest, fastest_confirmed;
  double rate = 0, confirmed_rate = 0;
  bool rival_confirmed = false;
  for (const Config& config : history.configs()) {
    const std::optional<Estimate> entry = estimate(history, config, spread);
    if (!entry) continue;
    // It may be slow again, so it must surely be the faster one.
    const double its_rate = entry->was_slow_once ? entry->score.low : entry->score.samples_per_s;
    if (its_rate > rate) {
      fastest = config;
      rate = its_rate;
    }
    const auto runs = history.runs_of(config);
    if (runs.size() < 2 || std::ranges::none_of(runs, &FinishedTrial::confirms)) continue;
    rival_confirmed |= config != first;
    if (its_rate > confirmed_rate) {
      fastest_confirmed = config;
      confirmed_rate = its_rate;
    }
  }
  // If only the defaults ran again, because their rivals failed then, they have won against nobody.
  return rival_confirmed ? fastest_confirmed : fastest;
}

std::string unconfirmed_text(const History& history) {
  const std::optional<Config> best = best_config(history);
  if (!best) return "";
  const RunSpread spread = spread_between_runs(history);
  double fastest = estimate(history, *best, spread)->score.high;
  const FinishedTrial* found = nullptr;
  for (const Config& config : history.configs()) {
    const std::optional<Estimate> its = estimate(history, config, spread);
    if (!its || its->has_confirming_run || its->score.samples_per_s <= fastest) continue;
    fastest = its->score.samples_per_s;
    const auto runs = history.runs_of(config);
    found = *std::ranges::max_element(
        runs, {}, [](const FinishedTrial* run) { return run->score().samples_per_s; });
  }
  if (!found) return "";
  return fmt::format(
      "Trial {} beat the best, but nothing confirmed it: a longer search (--resume) runs it again.",
      found->id);
}

}  // namespace redline::tuner
