// Searches by a model of the step (step_model.h) and of memory (memory_model.h).
//
// Each time it asks which trial is expected to gain most over the best so far. Every plausible fit
// of the model names the configuration that it holds to be the fastest; these configurations, and
// those around them, are the candidates. If only one fit believes in a trial, the trial is worth
// the gain that this fit expects, times how plausible the fit is. So a precision that was dismissed
// while the loader was the bottleneck comes back together with more workers, because no trial
// speaks against it.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/format.h"
#include "base/root_of_squares.h"
#include "tuner/search/frontier.h"
#include "tuner/search/memory_model.h"
#include "tuner/search/normal_distribution.h"
#include "tuner/search/step_model.h"
#include "tuner/search/strategy.h"
#include "tuner/search/surrogate.h"
#include "tuner/search/trial_time.h"
#include "tuner/search/walk.h"

namespace redline::tuner {
namespace {

constexpr double kWorthIt = 0.001;  ///< least expected gain
constexpr double kClearlyWorthIt = 0.003;
constexpr double kFailureCosts = 0.02;  ///< in terms of a gain
constexpr int64_t kMostFailures = 3;
constexpr double kWorthExploring = 0.002;
constexpr double kLeastSure = 0.6;
constexpr double kLikelyRuns = 0.55;
constexpr double kLeastChance = 0.1;
constexpr double kUnexplainedToo = 0.5;  ///< deviations of the unexplained that may be gained
constexpr double kLikeBatch = 4;         ///< batch sizes within this factor are alike
constexpr double kUnclear = 1;           ///< a score whose interval is this wide, relative to it
constexpr double kNearBest = 0.7;        ///< share of the best's rate
/// A trial is surprising if it is so many times further below what was expected than the lower end
/// of the middle 80 %, which is 1.28 deviations away.
constexpr double kSurprise = 3;
/// By so much two values together may be faster than a model of parts expects.
constexpr double kUnforeseen = 1.1;
constexpr int kRounds = 3;         ///< of an ascent; each goes over all knobs
constexpr int64_t kEachUpTo = 64;  ///< up to this value, every value of a range is a candidate
constexpr double kStepUp = 1.06;   ///< factor from one candidate of a wide range to the next
constexpr int64_t kEvenBatch = 8;
/// Chance of a value that only failed so far, for each failure.
constexpr double kFailedValue = 0.3;
/// So many of the fits' favourites also bring all that differs from them in one knob.
constexpr size_t kNearest = 2;

/// The values that a knob may have in candidates.
std::vector<std::string> candidate_values(const Knob& knob) {
  if (!knob.is_range()) return knob.values;
  std::vector<std::string> values;
  for (int64_t at = knob.low; at <= knob.high;) {
    values.push_back(std::to_string(at));
    int64_t next = at + 1;
    if (at >= knob.low + kEachUpTo || at >= kEachUpTo) {
      next = std::max<int64_t>(next, std::llround(static_cast<double>(at) * kStepUp));
      if (knob.name == "batch_size") next = (next + kEvenBatch - 1) / kEvenBatch * kEvenBatch;
      if (at < knob.high) next = std::min(next, knob.high);
    }
    at = next;
  }
  return values;
}

bool is_unclear(const Throughput& rate) {
  return rate.high - rate.low > kUnclear * rate.samples_per_s;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

class ModelAsk {
 public:
  ModelAsk(const Space& space, const SearchSettings& settings, const History& history)
      : space_(space),
        settings_(settings),
        history_(history),
        model_(space, settings, history),
        memory_(space, settings, history),
        time_(space, history),
        time_counts_(time_ends_the_search()) {
    for (const Knob& knob : space.knobs) values_.push_back(candidate_values(knob));
  }

  /// The next trial. If nothing is worth the risk, the remaining trials are used for risky ones,
  /// because nothing is lost by that.
  std::optional<Proposal> next() {
    find_best();
    if (auto proposal = once_more()) return proposal;
    if (auto proposal = most_worth(kClearlyWorthIt, kFailureCosts)) return proposal;
    if (auto proposal = judged_elsewhere()) return proposal;
    if (history_.out_of_memory_count() < kMostFailures) {
      if (auto proposal = most_worth(kClearlyWorthIt, kFailureCosts / 20)) return proposal;
    }
    if (auto proposal = most_worth(kWorthIt, kFailureCosts)) return proposal;
    // A model without parts may still find what the model's parts do not cover.
    const auto next =
        most_promising(space_, history_, {kWorthExploring, kLeastSure}, [&](const Config& config) {
          return look(history_.effective(config)).chance >= kLeastSure;
        });
    if (!next) return std::nullopt;
    const Config all = history_.effective(*next);
    return Proposal{*next, "explore: " + changes_of(all), expectation(look(all))};
  }

  /// The gain that nine of ten plausible fits hold to be the most that is still possible.
  double possible_gain() {
    find_best();
    std::vector<double> gains;
    for (size_t member = 0; member < model_.members(); ++member) {
      const double own = model_.parts(member, look(best_).place).rate;
      const Place& place = look(ascend(member)).place;
      const double unexplained = std::exp(kUnexplainedToo * model_.unexplained(place));
      gains.push_back(model_.parts(member, place).rate * unexplained / own - 1);
    }
    std::sort(gains.begin(), gains.end());
    return gains[static_cast<size_t>(0.9 * static_cast<double>(gains.size() - 1))];
  }

  /// Why the untried configurations were not tried.
  std::string why_ended() {
    find_best();
    for (const Knob& knob : space_.knobs) {
      if (knob.name != "batch_size" || !knob.is_numeric()) continue;
      Config all = best_;
      for (const std::string& value : candidate_values(knob)) {
        all[knob.name] = value;
        const Seen& seen = look(all);
        const auto bytes = memory_.expected_bytes(all);
        if (seen.is_new && seen.place.batch > affordable()) {
          return "No other configuration is worth a trial: the steps of batch_size " + value +
                 " would take longer than a trial may measure.";
        }
        if (!seen.is_new || memory_.chance(all) > 0.5) continue;
        const auto limit = memory_.limit_bytes();
        if (!bytes || !limit) {
          return "No other configuration is worth a trial: batch_size " + value +
                 " would probably run out of memory, as others did.";
        }
        return fmt::format(
            "No other configuration is worth a trial: batch_size {} would take about {} of {} of "
            "memory, and what fits is expected to gain less than {:.1f} %.",
            value, format_bytes(static_cast<uint64_t>(*bytes)), format_bytes(*limit),
            100 * kWorthExploring);
      }
    }
    return fmt::format(
        "No other configuration is worth a trial: none is expected to gain {:.1f} % or more.",
        100 * kWorthExploring);
  }

 private:
  std::optional<Proposal> most_worth(double least, double failure_costs) {
    failure_costs_ = failure_costs;
    candidates_.clear();
    collect();
    const Seen* chosen = nullptr;
    double most = 0;
    for (const Config& config : candidates_) {
      const Seen& seen = look(config);
      const double gain = worth(seen, expected_gain(seen.place));
      if (gain <= least) continue;
      const double gain_for_its_time = gain / relative_time(config, seen);
      if (gain_for_its_time <= most) continue;
      most = gain_for_its_time;
      chosen = &seen;
    }
    if (!chosen) return std::nullopt;
    return Proposal{chosen->config, reason(*chosen), expectation(*chosen)};
  }

  /// A trial that was much slower than the model thought possible. Before its values are dismissed
  /// it runs again, because chance makes single trials slow, by a multiple where threads and
  /// workers compete for processors.
  std::optional<Proposal> once_more() {
    const double best = std::exp(mean_of(best_rates_));
    for (const FinishedTrial& trial : history_.trials()) {
      const auto& expected = trial.result.expected;
      if (!trial.ok() || !expected || expected->score.samples_per_s < kNearBest * best) continue;
      const double least = expected->score.samples_per_s *
                           std::pow(expected->score.low / expected->score.samples_per_s, kSurprise);
      if (trial.score().samples_per_s > least) continue;
      const Config config = history_.canonical(trial.config);
      if (history_.runs_of(config).size() > 1) continue;
      return Proposal{config, kOnceMore, expectation(look(history_.effective(config)))};
    }
    return std::nullopt;
  }

  struct Seen {
    Config config;  ///< canonical
    Place place;
    double chance = 0;  ///< probability that it runs
    bool is_new = true;
  };

  /// A trial of a value that was so far only tried together with values other than the best's.
  /// Together they may have done what neither does alone, and no model of parts foresees all of
  /// that. It is tried at the best's batch size, or at the next smaller one that fits.
  std::optional<Proposal> judged_elsewhere() {
    const std::vector<std::pair<std::string, std::string>> others = other_values();
    for (const auto& [knob, value] : others) {
      Config config = best_;
      config[knob] = value;
      if (auto proposal = unless_judged(config)) return proposal;
    }
    // Two values that were only judged one by one, such as workers and threads that compete for
    // processors.
    for (const auto& [knob, value] : others) {
      for (const auto& [other, its] : others) {
        if (other <= knob) continue;
        Config config = best_;
        config[knob] = value;
        config[other] = its;
        if (were_together({{knob, value}, {other, its}})) continue;
        if (auto proposal = unless_judged(config)) return proposal;
      }
    }
    return std::nullopt;
  }

  /// All values, except the best's, of knobs that have a list of values.
  std::vector<std::pair<std::string, std::string>> other_values() const {
    std::vector<std::pair<std::string, std::string>> others;
    for (const Knob& knob : space_.knobs) {
      if (knob.name == "batch_size" || knob.is_range()) continue;
      for (const std::string& value : knob.values) {
        const auto own = best_.find(knob.name);
        if (own == best_.end() || own->second != value) others.emplace_back(knob.name, value);
      }
    }
    return others;
  }

  std::optional<Proposal> unless_judged(Config config) {
    if (was_judged_at_like_batch(config) || !make_it_fit(config)) return std::nullopt;
    const Seen& seen = look(config);
    if (!seen.is_new) return std::nullopt;
    const double best = std::exp(mean_of(best_rates_));
    if (kUnforeseen * expectation(seen).score.high < best) return std::nullopt;
    return Proposal{seen.config, "beside the best: " + changes_of(config), expectation(seen)};
  }

  /// Whether a trial with about the best's batch size had all of `values`.
  bool were_together(const Config& values) const {
    const double batch = model_.place(best_).batch;
    return std::any_of(history_.trials().begin(), history_.trials().end(), [&](const auto& trial) {
      const Config all = history_.effective(trial.config);
      return judges(trial, batch) &&
             std::all_of(values.begin(), values.end(), [&](const auto& one) {
               const auto own = all.find(one.first);
               return own != all.end() && own->second == one.second;
             });
    });
  }

  /// Whether a trial tells about configurations of this batch size. At a very different size
  /// another bottleneck may have decided. A trial that ran out of memory tells nothing, nor does
  /// one whose steps varied widely.
  bool judges(const FinishedTrial& trial, double batch) const {
    if (trial.out_of_memory() || (trial.ok() && is_unclear(trial.score()))) return false;
    return std::fabs(std::log(model_.place(trial.config).batch / batch)) < std::log(kLikeBatch);
  }

  bool was_judged_at_like_batch(Config config) const {
    const double batch = model_.place(config).batch;
    config.erase("batch_size");
    return std::any_of(history_.trials().begin(), history_.trials().end(), [&](const auto& trial) {
      Config all = history_.effective(trial.config);
      all.erase("batch_size");
      return all == config && judges(trial, batch);
    });
  }

  /// Halves the batch size if the configuration would probably not fit. False if that would not
  /// fit, either.
  bool make_it_fit(Config& config) {
    if (look(config).chance >= kLikelyRuns) return true;
    const auto batch = config.find("batch_size");
    if (batch == config.end()) return false;
    const std::vector<std::string> values = space_.find("batch_size")
                                                ? candidate_values(*space_.find("batch_size"))
                                                : std::vector<std::string>();
    const double most = look(config).place.batch;
    Config smaller = config;
    for (auto value = values.rbegin(); value != values.rend(); ++value) {
      smaller["batch_size"] = *value;
      const Seen& seen = look(smaller);
      if (seen.place.batch >= most || seen.place.batch < most / 5) continue;
      if (seen.chance < kLikelyRuns) continue;
      config = smaller;
      return true;
    }
    return false;
  }

  const Seen& look(const Config& config) {
    const auto [entry, is_new] = seen_.try_emplace(config);
    Seen& seen = entry->second;
    if (!is_new) return seen;
    seen.config = history_.canonical(config);
    seen.place = model_.place(config);
    seen.is_new = history_.runs_of(seen.config).empty();
    seen.chance = may_run(seen) ? memory_.chance(config) * chance_of_values(config) : 0;
    return seen;
  }

  /// Finds the fastest configuration, by what all trials together tell about each.
  void find_best() {
    double best = -HUGE_VAL;
    for (const Config& config : history_.configs()) {
      const auto runs = history_.runs_of(config);
      if (!std::all_of(runs.begin(), runs.end(), [](const auto* run) { return run->ok(); })) {
        continue;
      }
      const double rate = mean_of(model_.log_rates(model_.place(config)));
      if (rate <= best) continue;
      best = rate;
      best_ = history_.effective(config);
    }
    best_rates_ = model_.log_rates(model_.place(best_));
  }

  void collect() {
    std::set<Config> favourites = {best_};
    for (size_t member = 0; member < model_.members(); ++member) {
      favourites.insert(ascend(member));
    }
    for (const Config& favourite : favourites) add_candidate(favourite);
    add_neighbours(best_);
    std::vector<std::pair<double, Config>> ranked;
    for (const Config& favourite : favourites) {
      const Seen& seen = look(favourite);
      ranked.emplace_back(-worth(seen, expected_gain(seen.place)), favourite);
    }
    std::sort(ranked.begin(), ranked.end());
    for (size_t i = 0; i < std::min(kNearest, ranked.size()); ++i) add_neighbours(ranked[i].second);
  }

  void add_candidate(const Config& config) {
    if (look(config).is_new) candidates_.insert(config);
  }

  void add_neighbours(const Config& config) {
    for (size_t i = 0; i < values_.size(); ++i) {
      Config changed = config;
      for (const std::string& value : values_[i]) {
        changed[space_.knobs[i].name] = value;
        add_candidate(changed);
      }
    }
  }

  /// The configuration that one fit holds to be the most worthwhile.
  Config ascend(size_t member) {
    const double own = std::log(model_.parts(member, look(best_).place).rate);
    const auto worth_of = [&](const Seen& seen) {
      return worth(seen, std::log(model_.parts(member, seen.place).rate) - own);
    };
    Config at = best_;
    double most = 0;
    for (int round = 0; round < kRounds; ++round) {
      const double before = most;
      for (size_t i = 0; i < values_.size(); ++i) {
        Config changed = at;
        for (const std::string& value : values_[i]) {
          changed[space_.knobs[i].name] = value;
          const double its = worth_of(look(changed));
          if (its <= most) continue;
          most = its;
          at = changed;
        }
      }
      if (most <= before + kWorthIt) break;
    }
    return at;
  }

  /// The gain less the cost of a failure. A trial that runs out of memory is lost, and each such
  /// trial so far makes the next one cost more.
  double worth(const Seen& seen, double gain) const {
    if (seen.chance < kLeastChance) return -failure_costs_;
    const auto failures = static_cast<double>(history_.out_of_memory_count());
    return seen.chance * gain - (1 - seen.chance) * failure_costs_ * (1 + failures);
  }

  /// Whether the time will end the search, and not the number of trials.
  bool time_ends_the_search() const {
    if (settings_.time.count() == 0) return false;
    if (settings_.most_trials == 0) return true;
    const auto left = settings_.most_trials - std::ssize(history_.trials());
    return history_.time_used() + left * time_.usual() > settings_.time;
  }

  /// How long a trial would take, relative to the usual trial. Where trials are counted, all are
  /// alike.
  double relative_time(const Config& all, const Seen& seen) const {
    return time_counts_ ? time_.relative(all, std::exp(mean_of(model_.log_rates(seen.place)))) : 1;
  }

  double expected_gain(const Place& place) const {
    const std::vector<double> rates = model_.log_rates(place);
    const double unexplained = model_.unexplained(place);
    double sum = 0;
    for (size_t i = 0; i < rates.size(); ++i) {
      sum += expected_above_zero(rates[i] - best_rates_[i], unexplained);
    }
    return sum / static_cast<double>(rates.size());
  }

  /// The probability that its values run; lower for values that never ran and failed for another
  /// reason than memory.
  double chance_of_values(const Config& config) const {
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

  bool may_run(const Seen& seen) const {
    return seen.place.batch <= affordable() && fits_host(seen);
  }

  /// False if as many waiting samples of a loader have already filled the host's memory.
  bool fits_host(const Seen& seen) const {
    const auto waiting = batches_in_flight(history_, seen.config);
    if (!waiting) return true;
    for (const FinishedTrial& trial : history_.trials()) {
      if (trial.result.outcome != Outcome::kShmFull && !trial.result.not_started) continue;
      const auto then = batches_in_flight(history_, trial.config);
      const double batch = model_.place(trial.config).batch;
      if (then && *waiting * seen.place.batch >= *then * batch && seen.place.batch >= batch) {
        return false;
      }
    }
    return true;
  }

  /// The largest batch size whose steps do not take too long, by the rate of the fastest trial.
  /// Longer steps would leave no time for other trials.
  double affordable() const {
    // A figure from --metric need not be samples.
    const bool knows_samples = history_.rate() == Objective::kSamplesPerSecond;
    if (settings_.longest_measurement.count() == 0 || !knows_samples) return HUGE_VAL;
    double fastest = 0;
    for (const FinishedTrial& trial : history_.trials()) {
      if (trial.ok()) fastest = std::max(fastest, trial.result.throughput->samples_per_s);
    }
    const int ranks = std::max(1, history_.trials().front().result.ranks);
    return fastest * std::chrono::duration<double>(settings_.longest_measurement).count() /
           static_cast<double>(settings_.steps_a_trial * ranks);
  }

  Expectation expectation(const Seen& seen) const {
    std::vector<double> rates = model_.log_rates(seen.place);
    std::sort(rates.begin(), rates.end());
    const auto share = [&](double part) {
      return rates[static_cast<size_t>(part * static_cast<double>(rates.size() - 1))];
    };
    const double around = 1.28 * root_of_squares(model_.unexplained(seen.place), model_.noise());
    Expectation expected{.score = {.samples_per_s = std::exp(share(0.5)),
                                   .low = std::exp(share(0.1) - around),
                                   .high = std::exp(share(0.9) + around)}};
    if (const auto bytes = memory_.expected_bytes(seen.config)) {
      expected.peak_memory_bytes = static_cast<uint64_t>(*bytes);
    }
    return expected;
  }

  /// The knobs that differ from the best so far: "amp bf16, num_workers 8".
  std::string changes_of(const Config& all) const {
    std::string changes;
    for (const Knob& knob : space_.knobs) {
      const auto own = all.find(knob.name);
      const auto old = best_.find(knob.name);
      if (own == all.end() || (old != best_.end() && old->second == own->second)) continue;
      changes += (changes.empty() ? "" : ", ") + knob.name + " " + own->second;
    }
    return changes;
  }

  /// Says which bottleneck the trial tests, and by which knobs.
  std::string reason(const Seen& seen) const {
    const StepParts before = model_.parts(model_.place(best_));
    const Config all = history_.effective(seen.config);
    std::string hidden;
    bool workers = false;
    for (const Knob& knob : space_.knobs) {
      const auto own = all.find(knob.name);
      const auto old = best_.find(knob.name);
      if (own == all.end() || (old != best_.end() && old->second == own->second)) continue;
      if (knob.name == "num_workers") {
        workers = true;
      } else if (hidden.empty() || knob.name == "amp") {
        hidden = knob.name;
      }
    }
    const bool loader = before.loader < before.compute;
    const char* const what = !loader          ? "compute limits"
                             : !workers       ? "is it the loader"
                             : hidden.empty() ? "loader limits"
                                              : "loader hides ";
    return what + (loader && workers ? hidden : "") + ": " + changes_of(all);
  }

  const Space& space_;
  const SearchSettings& settings_;
  const History& history_;
  StepModel model_;
  MemoryModel memory_;
  TrialTime time_;
  bool time_counts_;
  std::vector<std::vector<std::string>> values_;  ///< by knob
  std::map<Config, Seen> seen_;
  std::set<Config> candidates_;
  double failure_costs_ = kFailureCosts;
  Config best_;  ///< with the script's own values
  std::vector<double> best_rates_;
};

class ModelSearch final : public Strategy {
 public:
  ModelSearch(const Space& space, const SearchSettings& settings)
      : space_(space), settings_(settings) {}

  std::optional<Proposal> ask(const History& history) const override {
    return has_result(history) ? ModelAsk(space_, settings_, history).next()
                               : something_that_runs(history);
  }

  std::string why_ended(const History& history) const override {
    if (!has_result(history)) return "No configuration ran.";
    return ModelAsk(space_, settings_, history).why_ended();
  }
  std::optional<double> possible_gain(const History& history) const override {
    if (!has_result(history)) return std::nullopt;
    return ModelAsk(space_, settings_, history).possible_gain();
  }

  std::string description() const override {
    return "model: the trial with the highest expected gain, by a model of the step (compute, "
           "loader, memory) fitted to all trials so far";
  }

 private:
  static bool has_result(const History& history) {
    return std::any_of(history.trials().begin(), history.trials().end(), [](const auto& trial) {
      return trial.ok() && trial.score().samples_per_s > 0;
    });
  }

  /// Looks for a smaller batch size that runs, because even the defaults may need too much memory.
  std::optional<Proposal> something_that_runs(const History& history) const {
    const Knob* batch = space_.find("batch_size");
    if (!batch || !batch->is_numeric()) return std::nullopt;
    Walk walk(space_, history);
    int64_t smaller = walk.number(*batch, kUsualBatch);
    for (;;) {
      const int64_t next = batch->nearest(static_cast<double>(smaller) / 4);
      if (next >= smaller) return std::nullopt;
      smaller = next;
      const Config config = walk.with(batch->name, std::to_string(smaller));
      if (!walk.measure(config, "smaller batch")) return walk.wanted();
    }
  }

  const Space& space_;
  SearchSettings settings_;
};

}  // namespace

std::unique_ptr<Strategy> make_model(const Space& space, const SearchSettings& settings) {
  return std::make_unique<ModelSearch>(space, settings);
}

}  // namespace redline::tuner
