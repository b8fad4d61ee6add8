#include "tuner/search/surrogate.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <set>

#include "tuner/search/normal_distribution.h"

namespace redline::tuner {
namespace {

constexpr double kFirstWeight = 0.3;

}  // namespace

Point point_of(const Space& space, const History& history, const Config& config) {
  const Config all = history.effective(config);
  Point point;
  for (const Knob& knob : space.knobs) {
    const std::string text = value_of(all, knob.name);
    if (const auto number = parse_integer(text); number && knob.is_numeric()) {
      point.push_back(knob.by_size(static_cast<double>(*number)));
    } else {
      const auto place = std::ranges::find(knob.values, text);
      point.push_back(static_cast<double>(place - knob.values.begin()));
    }
  }
  return point;
}

GaussianProcess::Shape first_shape(const Space& space) {
  GaussianProcess::Shape shape;
  for (const Knob& knob : space.knobs) shape.ordered.push_back(knob.is_numeric());
  shape.weights.assign(space.knobs.size(), kFirstWeight);
  return shape;
}

namespace {

constexpr double kUsualChance = 0.8;
/// Noise of failures, because memory is not full at exactly the same size each time.
constexpr double kUnsure = 0.3;
constexpr double kMoreThanFailed = 0.1;
/// Chance of a configuration that has more of everything than one that failed with other switches.
constexpr double kMoreThanFailedElsewhere = 0.5;
constexpr double kLessThanRan = 0.9;
constexpr size_t kFastest = 3;  ///< configurations whose neighbours are candidates
constexpr double kFar = 4;      ///< a number that is more than this factor away is no neighbour
constexpr double kStep = 1.25;  ///< factor from one candidate of a wide range to the next
constexpr int64_t kEveryValue = 16;  ///< ranges up to this width have every value as a candidate

std::vector<Point> points_of(const Space& space, const History& history, bool failed_too) {
  std::vector<Point> points;
  for (const FinishedTrial& trial : history.trials()) {
    if (failed_too || trial.ok()) points.push_back(point_of(space, history, trial.config));
  }
  return points;
}

GaussianProcess chances(const Space& space, const History& history) {
  GaussianProcess::Shape shape = first_shape(space);
  shape.noise = kUnsure;
  std::vector<double> values;
  for (const FinishedTrial& trial : history.trials()) {
    values.push_back((trial.ok() ? 1 : 0) - kUsualChance);
  }
  return {std::move(shape), points_of(space, history, true), std::move(values)};
}

double mean_log_rate(const History& history) {
  double sum = 0;
  double count = 0;
  for (const FinishedTrial& trial : history.trials()) {
    if (!trial.ok()) continue;
    sum += std::log(trial.score().samples_per_s);
    ++count;
  }
  assert(count > 0);
  return sum / count;
}

GaussianProcess rates(const Space& space, const History& history, double usual) {
  const std::vector<Point> points = points_of(space, history, false);
  std::vector<double> values;
  for (const FinishedTrial& trial : history.trials()) {
    if (trial.ok()) values.push_back(std::log(trial.score().samples_per_s) - usual);
  }
  return {GaussianProcess::fit(first_shape(space), points, values), points, values};
}

}  // namespace

Feasibility::Feasibility(const Space& space, const History& history)
    : space_(space),
      history_(history),
      points_(points_of(space, history, true)),
      process_(chances(space, history)) {
  for (const FinishedTrial& trial : history.trials()) ran_.push_back(trial.ok());
}

double Feasibility::chance(const Config& config) const {
  const Point point = point_of(space_, history_, config);
  double guess = kUsualChance + process_.value_at(point);
  for (size_t i = 0; i < points_.size(); ++i) {
    bool more = true;
    bool less = true;
    bool same = true;
    for (size_t j = 0; j < point.size(); ++j) {
      if (!space_.knobs[j].is_numeric()) {
        same &= point[j] == points_[i][j];
        continue;
      }
      more &= point[j] >= points_[i][j];
      less &= point[j] <= points_[i][j];
    }
    if (more && !ran_[i])
      guess = std::min(guess, same ? kMoreThanFailed : kMoreThanFailedElsewhere);
    if (less && same && ran_[i]) guess = std::max(guess, kLessThanRan);
  }
  return std::clamp(guess, 0.0, 1.0);
}

RateModel::RateModel(const Space& space, const History& history)
    : space_(space),
      history_(history),
      usual_(mean_log_rate(history)),
      process_(rates(space, history, usual_)),
      best_(-HUGE_VAL) {
  for (const Point& point : points_of(space, history, false)) {
    best_ = std::max(best_, process_.value_at(point));
  }
}

double RateModel::log_rate(const Config& config) const {
  return usual_ + process_.value_at(point_of(space_, history_, config));
}

double RateModel::expected_gain(const Config& config) const {
  const auto guess = process_.at(point_of(space_, history_, config));
  const double lead = guess.value - best_;
  return expected_above_zero(lead, guess.deviation);
}

namespace {

std::vector<std::string> values_of(const Knob& knob) {
  if (!knob.is_range()) return knob.values;
  std::vector<std::string> values;
  const bool every = knob.high - knob.low < kEveryValue;
  double at = static_cast<double>(knob.low);
  while (at <= static_cast<double>(knob.high)) {
    std::string value = std::to_string(knob.nearest(at));
    if (values.empty() || values.back() != value) values.push_back(std::move(value));
    at = every ? at + 1 : std::max(at + 1, at < 0 ? at / kStep : at * kStep);
  }
  return values;
}

/// The knob's values within a few steps of the one in `config`; for a list, its neighbours.
std::vector<std::string> near_values(const Knob& knob, const Config& config) {
  std::vector<std::string> values = values_of(knob);
  const auto from = number_of(config, knob.name);
  if (!knob.is_numeric() || !from) return values;
  int64_t below = INT64_MIN, above = INT64_MAX;
  for (const std::string& value : values) {
    const int64_t number = *parse_integer(value);
    if (number < *from) below = std::max(below, number);
    if (number > *from) above = std::min(above, number);
  }
  std::erase_if(values, [&](const std::string& value) {
    const int64_t number = *parse_integer(value);
    if (number == below || number == above) return false;
    const auto a = std::max(static_cast<double>(*from), 1.0);
    const auto b = std::max(static_cast<double>(number), 1.0);
    return b > kFar * a || a > kFar * b;
  });
  return values;
}

std::vector<Config> fastest(const RateModel& model, const History& history) {
  std::vector<std::pair<double, Config>> ranked;
  for (const Config& config : history.configs_that_ran()) {
    ranked.emplace_back(model.log_rate(config), config);
  }
  std::ranges::stable_sort(ranked, std::greater(), [](const auto& one) { return one.first; });
  std::vector<Config> result;
  for (size_t i = 0; i < std::min(kFastest, ranked.size()); ++i) result.push_back(ranked[i].second);
  return result;
}

/// Adds the configurations that differ from `config` in one or two knobs.
void add_neighbours(const Space& space, const History& history, const Config& config,
                    std::set<Config>& found) {
  const Config all = history.effective(config);
  for (auto one = space.knobs.begin(); one != space.knobs.end(); ++one) {
    for (const std::string& first : near_values(*one, all)) {
      Config changed = config;
      changed[one->name] = first;
      found.insert(history.canonical(changed));
      for (auto other = one + 1; other != space.knobs.end(); ++other) {
        Config twice = changed;
        for (const std::string& second : near_values(*other, all)) {
          twice[other->name] = second;
          found.insert(history.canonical(twice));
        }
      }
    }
  }
}

}  // namespace

std::optional<Config> most_promising(const Space& space, const History& history, const Worth& worth,
                                     const std::function<bool(const Config&)>& may_run) {
  const RateModel model(space, history);
  const Feasibility feasibility(space, history);
  std::set<Config> candidates;
  for (const Config& config : fastest(model, history)) {
    add_neighbours(space, history, config, candidates);
  }
  for (const FinishedTrial& trial : history.trials()) {
    candidates.erase(history.canonical(trial.config));
  }
  std::vector<std::pair<double, const Config*>> ranked;
  for (const Config& config : candidates) {
    double gain = model.expected_gain(config);
    if (gain < worth.least_gain) continue;
    const double chance = feasibility.chance(config);
    gain *= chance;
    if (gain >= worth.least_gain && chance >= worth.least_chance)
      ranked.emplace_back(gain, &config);
  }
  std::ranges::stable_sort(ranked, std::greater(), [](const auto& one) { return one.first; });
  for (const auto& [gain, config] : ranked) {
    if (may_run(*config)) return *config;
  }
  return std::nullopt;
}

}  // namespace redline::tuner
