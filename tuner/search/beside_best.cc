#include "tuner/search/beside_best.h"

#include <algorithm>
#include <cmath>

#include "tuner/search/candidates.h"
#include "tuner/search/search_words.h"

namespace redline::tuner {
namespace {

constexpr double kLikelyRuns = 0.55;
constexpr double kLikeBatch = 4;    ///< batch sizes within this factor are alike
constexpr double kLikeWorkers = 2;  ///< the same for numbers of workers
constexpr double kUnclear = 1;      ///< a score whose interval is this wide, relative to it
/// By so much two values together may be faster than a model of parts expects.
constexpr double kUnforeseen = 1.1;
constexpr double kMostSmaller = 5;  ///< a batch size smaller by a larger factor tells little

bool is_unclear(const Throughput& rate) {
  return rate.high - rate.low > kUnclear * rate.samples_per_s;
}

class BesideBest {
 public:
  BesideBest(Outlook& outlook, bool also_hopeless)
      : outlook_(outlook), also_hopeless_(also_hopeless), best_(outlook.best()) {}

  std::optional<Proposal> next() {
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

 private:
  /// All values, except the best's, of knobs that have a list of values.
  std::vector<std::pair<std::string, std::string>> other_values() const {
    std::vector<std::pair<std::string, std::string>> others;
    for (const Knob& knob : outlook_.space().knobs) {
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
    const Outlook::View& view = outlook_.look(config);
    if (!view.is_new) return std::nullopt;
    const auto expected = outlook_.expectation(view);
    const bool is_hopeless = expected && kUnforeseen * expected->score.high < outlook_.best_rate();
    if (is_hopeless && !also_hopeless_) return std::nullopt;
    return Proposal{view.config, "beside the best: " + changes_of(outlook_, config), expected};
  }

  /// Whether a trial with about the best's batch size had all of `values`.
  bool were_together(const Config& values) const {
    const double batch = outlook_.model().place(best_).batch;
    const auto& trials = outlook_.history().trials();
    return std::ranges::any_of(trials, [&](const auto& trial) {
      const Config all = outlook_.history().effective(trial.config);
      return judges(trial, batch) && std::ranges::all_of(values, [&](const auto& one) {
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
    const double its_batch = outlook_.model().place(trial.config).batch;
    return std::fabs(std::log(its_batch / batch)) < std::log(kLikeBatch);
  }

  /// Whether a trial's workers tell about a configuration with those of `place`: exactly these if
  /// they are what it changes, else about so many.
  bool has_like_workers(const FinishedTrial& trial, const Place& place) const {
    const auto its = outlook_.model().place(trial.config).workers;
    if (place.workers != outlook_.model().place(best_).workers) return its == place.workers;
    const double many = std::max(its.value_or(0), place.workers.value_or(0));
    const double few = std::min(its.value_or(0), place.workers.value_or(0));
    return many <= kLikeWorkers * few;  // without workers it is another loader
  }

  bool was_judged_at_like_batch(Config config) const {
    const Place place = outlook_.model().place(config);
    for (const char* knob : {"batch_size", "num_workers"}) config.erase(knob);
    const auto& trials = outlook_.history().trials();
    return std::ranges::any_of(trials, [&](const auto& trial) {
      Config all = outlook_.history().effective(trial.config);
      for (const char* knob : {"batch_size", "num_workers"}) all.erase(knob);
      return all == config && has_like_workers(trial, place) && judges(trial, place.batch);
    });
  }

  /// Reduces the batch size if the configuration would probably not fit. False if that would not
  /// fit, either.
  bool make_it_fit(Config& config) {
    if (outlook_.look(config).chance >= kLikelyRuns) return true;
    if (!config.contains("batch_size")) return false;
    const Knob* knob = outlook_.space().find("batch_size");
    const auto values = knob ? candidate_values(*knob) : std::vector<std::string>();
    const double most = outlook_.look(config).place.batch;
    Config smaller = config;
    for (auto value = values.rbegin(); value != values.rend(); ++value) {
      smaller["batch_size"] = *value;
      const Outlook::View& view = outlook_.look(smaller);
      if (view.place.batch >= most || view.place.batch < most / kMostSmaller) continue;
      if (view.chance < kLikelyRuns) continue;
      config = smaller;
      return true;
    }
    return false;
  }

  Outlook& outlook_;
  const bool also_hopeless_;
  const Config& best_;
};

}  // namespace

std::optional<Proposal> beside_best(Outlook& outlook, bool also_hopeless) {
  return BesideBest(outlook, also_hopeless).next();
}

}  // namespace redline::tuner
