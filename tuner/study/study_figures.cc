#include "tuner/study/study_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/format.h"
#include "base/statistics.h"

namespace redline::tuner {
namespace {

bool varies(const History& history, const std::string& knob, const std::string& value) {
  return std::ranges::any_of(history.trials(), [&](const FinishedTrial& trial) {
    const Config all = history.effective(trial.config);
    const auto found = all.find(knob);
    return found == all.end() || found->second != value;
  });
}

/// The name of a stratum in the legend: only the knobs that have several values, which tell strata
/// apart. A stratum without any, beside others, has the trials that leave these knobs alone.
std::string stratum_name(const History& history, const Config& stratum) {
  std::string name;
  for (const auto& [knob, value] : stratum) {
    if (varies(history, knob, value)) name += (name.empty() ? "" : ", ") + knob + " " + value;
  }
  return name;
}

std::optional<double> rate_of(const FinishedTrial& trial) {
  return trial.ok() ? std::optional(trial.score().samples_per_s) : std::nullopt;
}

std::string hint_of(const FinishedTrial& trial, Objective objective) {
  std::string ended(to_string(trial.result.outcome));
  if (trial.ok()) {
    const Throughput& rate = trial.score();
    ended = format_number(rate.samples_per_s) + " " + unit_of(objective);
    if (rate.high > rate.low) ended += fmt::format(" ({})", interval_text(rate));
  }
  if (!trial.result.disturbance.empty()) ended += ", disturbed: " + trial.result.disturbance;
  return fmt::format("trial {}: {}", trial.id, ended);
}

TrialMark mark_of(const FinishedTrial& trial, double x, Objective objective) {
  TrialMark mark;
  mark.trial = trial.id;
  mark.x = x;
  mark.rate = rate_of(trial);
  if (trial.ok()) {
    mark.low = trial.score().low;
    mark.high = trial.score().high;
  }
  mark.is_disturbed = !trial.result.disturbance.empty();
  mark.hint = hint_of(trial, objective);
  return mark;
}

void mark_best_of_each_batch(std::vector<TrialMark>& marks) {
  std::map<double, TrialMark*> best;
  for (TrialMark& mark : marks) {
    TrialMark*& known = best[mark.x];
    if (mark.rate && (!known || *mark.rate > *known->rate)) known = &mark;
  }
  for (const auto& [batch, mark] : best) {
    if (mark) mark->is_best = true;
  }
}

void finish(BatchSeries& series) {
  std::ranges::stable_sort(series.marks, {}, &TrialMark::x);
  mark_best_of_each_batch(series.marks);
  for (const TrialMark& mark : series.marks) {
    series.best_rate = std::max(series.best_rate, mark.rate.value_or(0));
  }
}

// For each configuration the mean rate of its runs; 0 if none ran to its end.
std::map<Config, double> mean_rates(const History& history) {
  std::map<Config, std::vector<double>> runs;
  for (const FinishedTrial& trial : history.trials()) {
    auto& of_one = runs[history.effective(trial.config)];
    if (const auto rate = rate_of(trial)) of_one.push_back(*rate);
  }
  std::map<Config, double> means;
  for (const auto& [config, rates] : runs) means[config] = rates.empty() ? 0 : mean_of(rates);
  return means;
}

using RateByValue = std::map<std::string, double>;

double fastest(const RateByValue& rates) {
  double best = 0;
  for (const auto& [value, rate] : rates) best = std::max(best, rate);
  return best;
}

int64_t how_many_ran(const RateByValue& rates) {
  return std::ranges::count_if(rates, [](const auto& of_one) { return of_one.second > 0; });
}

// The set of configurations that differ in this knob alone, as KnobEffect describes it.
RateByValue changed_alone(const std::map<Config, double>& rates, const std::string& knob) {
  std::map<Config, RateByValue> sets;  // by the other knobs
  for (const auto& [config, rate] : rates) {
    Config others = config;
    if (const auto own = others.extract(knob)) sets[others][own.mapped()] = rate;
  }
  RateByValue best;
  for (const auto& [others, set] : sets) {
    const auto worth = std::pair(how_many_ran(set), fastest(set));
    if (worth > std::pair(how_many_ran(best), fastest(best))) best = set;
  }
  return best;
}

}  // namespace

std::vector<BatchSeries> batch_series(const History& history) {
  std::map<Config, BatchSeries> strata;
  for (const FinishedTrial& trial : history.trials()) {
    const auto size = number_of(history.effective(trial.config), "batch_size");
    if (!size || *size <= 0 || (!trial.ok() && !trial.out_of_memory())) continue;
    const Config stratum = memory_stratum(history, trial.config);
    BatchSeries& series = strata[stratum];
    if (series.marks.empty()) {
      series.name = stratum_name(history, stratum);
      series.frontier = find_frontier(history, trial.config);
    }
    series.marks.push_back(mark_of(trial, static_cast<double>(*size), history.objective()));
    TrialMark& mark = series.marks.back();
    mark.hint = fmt::format("batch size {}, {}", *size, mark.hint);
  }
  std::vector<BatchSeries> result;
  for (auto& [stratum, series] : strata) {
    if (series.name.empty()) series.name = strata.size() == 1 ? "all trials" : "default";
    finish(series);
    result.push_back(std::move(series));
  }
  std::ranges::stable_sort(result, std::greater(), &BatchSeries::best_rate);
  return result;
}

std::vector<TrialMark> convergence(const History& history) {
  std::vector<TrialMark> marks;
  double best = 0;
  for (const FinishedTrial& trial : history.trials()) {
    marks.push_back(mark_of(trial, static_cast<double>(marks.size() + 1), history.objective()));
    marks.back().is_best = marks.back().rate.value_or(0) > best;
    best = std::max(best, marks.back().rate.value_or(0));
  }
  return marks;
}

double KnobEffect::at_stake() const {
  double worst = rate_by_value.front().second;
  for (const auto& [value, rate] : rate_by_value) worst = rate > 0 ? rate : worst;
  return 1 - worst / rate_by_value.front().second;
}

std::vector<KnobEffect> knob_effects(const History& history, const Space& space) {
  const std::map<Config, double> rates = mean_rates(history);
  std::vector<KnobEffect> effects;
  for (const Knob& knob : space.knobs) {
    const RateByValue alone = changed_alone(rates, knob.name);
    KnobEffect effect{knob.name, {alone.begin(), alone.end()}};
    std::ranges::stable_sort(effect.rate_by_value, std::ranges::greater{},
                             &std::pair<std::string, double>::second);
    if (how_many_ran(alone) > 1) effects.push_back(effect);
  }
  std::ranges::stable_sort(effects, std::greater(), &KnobEffect::at_stake);
  return effects;
}

}  // namespace redline::tuner
