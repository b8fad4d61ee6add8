// Searches by a model of the step (step_model.h) and of memory (memory_model.h).
//
// Each time it asks which trial is expected to gain most over the best so far. Every plausible fit
// of the model names the configuration that it holds to be the fastest; these configurations, and
// those around them, are the candidates. If only one fit believes in a trial, the trial is worth
// the gain that this fit expects, times how plausible the fit is. So a precision that was dismissed
// while the loader was the bottleneck comes back together with more workers, because no trial
// speaks against it.
#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "tuner/search/beside_best.h"
#include "tuner/search/candidates.h"
#include "tuner/search/less_memory.h"
#include "tuner/search/outlook.h"
#include "tuner/search/search_words.h"
#include "tuner/search/strategy.h"
#include "tuner/search/surrogate.h"
#include "tuner/search/trial_time.h"
#include "tuner/search/walk.h"

namespace redline::tuner {
namespace {

constexpr double kWorthIt = 0.001;  ///< least expected gain
constexpr double kClearlyWorthIt = 0.003;
constexpr double kFailureCosts = 0.02;  ///< in terms of a gain
constexpr int64_t kMostFailures = 3;    ///< of which the last risks take no account
constexpr double kWorthExploring = 0.002;
constexpr double kLeastSure = 0.6;
constexpr double kUnexplainedToo = 0.5;  ///< deviations of the unexplained that may be gained
constexpr double kNearBest = 0.7;        ///< share of the best's rate
/// A trial is surprising if it is so many times further below what was expected than the lower end
/// of the middle 80 %, which is 1.28 deviations away.
constexpr double kSurprise = 3;

class ModelAsk {
 public:
  ModelAsk(const Space& space, const SearchSettings& settings, const History& history)
      : space_(space),
        settings_(settings),
        history_(history),
        outlook_(space, settings, history),
        candidates_(outlook_),
        time_(space, history),
        time_counts_(time_ends_the_search()) {}

  /// The next trial. If nothing is worth the risk, the remaining trials are used for risky ones,
  /// because nothing is lost by that.
  std::optional<Proposal> next() {
    if (auto proposal = once_more()) return proposal;
    if (auto proposal = most_worth(kClearlyWorthIt, kFailureCosts)) return proposal;
    if (auto proposal = beside_best(outlook_)) return proposal;
    const bool may_fail = history_.failed_risks() < kMostFailures;
    const double cheaper = kFailureCosts / (may_fail ? 20 : 4);
    if (auto proposal = most_worth(kClearlyWorthIt, cheaper)) return proposal;
    if (auto proposal = most_worth(kWorthIt, kFailureCosts)) return proposal;
    if (auto proposal = explore()) return proposal;
    // The model may be sure for a wrong reason, and nothing else is left to do with the time.
    return beside_best(outlook_, true);
  }

  /// The gain that nine of ten plausible fits hold to be the most that is still possible.
  double possible_gain() {
    const StepModel& model = outlook_.model();
    std::vector<double> gains;
    for (size_t member = 0; member < model.members(); ++member) {
      const double own = model.parts(member, outlook_.look(outlook_.best()).place).rate;
      const Place& place = outlook_.look(candidates_.favourite(member, kFailureCosts)).place;
      const double unexplained = std::exp(kUnexplainedToo * model.unexplained(place));
      gains.push_back(model.parts(member, place).rate * unexplained / own - 1);
    }
    return quantile_of(std::move(gains), 0.9);
  }

  std::string why_ended() { return why_nothing_is_worth_a_trial(outlook_, kWorthExploring); }

 private:
  std::optional<Proposal> most_worth(double least, double failure_costs) {
    const Outlook::View* chosen = nullptr;
    double most = 0;
    for (const Config& config : candidates_.collect(failure_costs)) {
      const Outlook::View& view = outlook_.look(config);
      const double gain =
          candidates_.worth(view, outlook_.expected_gain(view.place), failure_costs);
      if (gain <= least) continue;
      const double gain_for_its_time = gain / relative_time(config, view);
      if (gain_for_its_time <= most) continue;
      most = gain_for_its_time;
      chosen = &view;
    }
    if (!chosen) return std::nullopt;
    return Proposal{chosen->config, bottleneck_tested(outlook_, chosen->config),
                    outlook_.expectation(*chosen)};
  }

  /// A trial that was much slower than the model thought possible. Before its values are dismissed
  /// it runs again, because chance makes single trials slow, by a multiple where threads and
  /// workers compete for processors.
  std::optional<Proposal> once_more() {
    const double best = outlook_.best_rate();
    int side_by_side = 0;
    for (const FinishedTrial& trial : history_.trials()) {
      // The first ones were asked for before any had shown what neighbours cost.
      const int neighbours = trial.result.neighbours;
      if (trial.ok() && neighbours > 0 && side_by_side++ <= neighbours) continue;
      const auto& expected = trial.result.expected;
      if (!trial.ok() || !expected || expected->score.samples_per_s < kNearBest * best) continue;
      const double least = expected->score.samples_per_s *
                           std::pow(expected->score.low / expected->score.samples_per_s, kSurprise);
      if (trial.score().samples_per_s > least) continue;
      const Config config = history_.canonical(trial.config);
      if (history_.runs_of(config).size() > 1) continue;
      return Proposal{config, kOnceMore,
                      outlook_.expectation(outlook_.look(history_.effective(config)))};
    }
    return std::nullopt;
  }

  /// A model without parts may still find what the model's parts do not cover.
  std::optional<Proposal> explore() {
    const auto next =
        most_promising(space_, history_, {kWorthExploring, kLeastSure}, [&](const Config& config) {
          return outlook_.look(history_.effective(config)).chance >= kLeastSure;
        });
    if (!next) return std::nullopt;
    const Config all = history_.effective(*next);
    return Proposal{*next, "explore: " + changes_of(outlook_, all),
                    outlook_.expectation(outlook_.look(all))};
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
  double relative_time(const Config& all, const Outlook::View& view) const {
    return time_counts_ ? time_.relative(all, outlook_.rate(view.place)) : 1;
  }

  const Space& space_;
  const SearchSettings& settings_;
  const History& history_;
  Outlook outlook_;
  Candidates candidates_;
  TrialTime time_;
  bool time_counts_;
};

class ModelSearch final : public Strategy {
 public:
  ModelSearch(const Space& space, const SearchSettings& settings)
      : space_(space), settings_(settings) {}

  std::optional<Proposal> ask(const History& history) const override {
    if (has_result(history)) return ModelAsk(space_, settings_, history).next();
    Walk walk(space_, history);
    return find_what_runs(walk) ? std::nullopt : walk.wanted();
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
    return std::ranges::any_of(history.trials(), [](const auto& trial) {
      return trial.ok() && trial.score().samples_per_s > 0;
    });
  }

  const Space& space_;
  SearchSettings settings_;
};

}  // namespace

std::unique_ptr<Strategy> make_model(const Space& space, const SearchSettings& settings) {
  return std::make_unique<ModelSearch>(space, settings);
}

}  // namespace redline::tuner
