#include "tuner/search/outlook.h"

#include <algorithm>
#include <cmath>

#include "base/root_of_squares.h"
#include "base/statistics.h"
#include "tuner/search/normal_distribution.h"

namespace redline::tuner {

Outlook::Outlook(const Space& space, const SearchSettings& settings, const History& history)
    : space_(space),
      history_(history),
      memory_(space, settings, history),
      model_(space, settings, history, memory_),
      runnable_(space, settings, history) {
  find_best();
}

void Outlook::find_best() {
  double best = -HUGE_VAL;
  for (const Config& config : history_.configs_that_ran()) {
    const double rate = mean_of(model_.log_rates(model_.place(config)));
    if (rate <= best) continue;
    best = rate;
    best_ = history_.effective(config);
  }
  best_rates_ = model_.log_rates(model_.place(best_));
}

const Outlook::View& Outlook::look(const Config& config) {
  const auto [entry, is_new] = seen_.try_emplace(config);
  View& view = entry->second;
  if (!is_new) return view;
  view.config = history_.canonical(config);
  view.place = model_.place(config);
  view.is_new = history_.runs_of(view.config).empty();
  const bool may_run = view.place.batch <= runnable_.affordable_batch() &&
                       runnable_.fits_host(view.config, view.place.batch);
  view.chance = may_run ? memory_.chance(config) * runnable_.chance_of_values(config) : 0;
  return view;
}

double Outlook::best_rate() const { return std::exp(mean_of(best_rates_)); }

double Outlook::rate(const Place& place) const {
  return std::exp(mean_of(model_.log_rates(place)));
}

double Outlook::expected_gain(const Place& place) const {
  const std::vector<double> rates = model_.log_rates(place);
  const double unexplained = model_.unexplained(place);
  double sum = 0;
  for (size_t i = 0; i < rates.size(); ++i) {
    sum += expected_above_zero(rates[i] - best_rates_[i], unexplained);
  }
  return sum / static_cast<double>(rates.size());
}

std::optional<Expectation> Outlook::expectation(const View& view) const {
  const std::vector<double> rates = model_.log_rates(view.place);
  const double around = 1.28 * root_of_squares(model_.unexplained(view.place), model_.noise());
  Expectation expected{.score = {.samples_per_s = std::exp(quantile_of(rates, 0.5)),
                                 .low = std::exp(quantile_of(rates, 0.1) - around),
                                 .high = std::exp(quantile_of(rates, 0.9) + around)}};
  if (!std::isfinite(expected.score.high)) return std::nullopt;
  if (const auto bytes = memory_.expected_bytes(view.config)) {
    expected.peak_memory_bytes = static_cast<uint64_t>(*bytes);
  }
  return expected;
}

}  // namespace redline::tuner
