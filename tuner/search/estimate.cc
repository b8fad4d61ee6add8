#include "tuner/search/estimate.h"

#include <algorithm>
#include <cmath>

#include "base/root_of_squares.h"
#include "base/statistics.h"
#include "tuner/trial/measurement.h"

namespace redline::tuner {
namespace {

template <typename Value>
double mean_over(const std::vector<const FinishedTrial*>& runs, Value value) {
  double sum = 0;
  for (const FinishedTrial* run : runs) sum += value(*run);
  return sum / static_cast<double>(runs.size());
}

double mean_rate(const std::vector<const FinishedTrial*>& runs) {
  return mean_over(runs, [](const FinishedTrial& run) { return run.score().samples_per_s; });
}

Throughput scaled(const Throughput& interval, double mean) {
  const double by = mean / interval.samples_per_s;
  return {.samples_per_s = mean, .low = by * interval.low, .high = by * interval.high};
}

/// Whether all other runs, at least two, beat the first by a multiple: files that were not yet
/// cached, for example, slow the first trial of a study. It is then left out. "Once more" needs no
/// third run, because the model had thought the first too slow before it saw the second. A
/// configuration whose runs vary keeps all of them, and the confirming runs stay, whatever they
/// are.
bool was_slow_at_first(const std::vector<const FinishedTrial*>& runs) {
  if (runs.size() < 2 || runs.front()->confirms()) return false;
  if (runs.size() == 2 && runs.back()->why != kOnceMore) return false;
  const double first = runs.front()->score().samples_per_s;
  return std::all_of(runs.begin() + 1, runs.end(), [&](const auto* run) {
    return first < kSlowedDown * run->score().samples_per_s;
  });
}

/// All runs of a configuration, or none if one of them failed, because it must work every time. If
/// trials ran side by side, only the runs of the confirmation, which ran alone, tell how fast it
/// is. A run that other programs disturbed tells nothing beside one that they did not, and a
/// winner that is disturbed once would lose by it.
std::vector<const FinishedTrial*> successful_runs(const History& history, const Config& config) {
  std::vector<const FinishedTrial*> runs = history.runs_of(config);
  const bool all_ok = std::ranges::all_of(runs, [](auto* run) { return run->ok(); });
  if (!all_ok) return {};
  if (history.ran_side_by_side() && std::ranges::any_of(runs, &FinishedTrial::confirms)) {
    std::erase_if(runs, [](const FinishedTrial* run) { return !run->confirms(); });
  }
  const auto disturbed = [](const auto* run) { return !run->result.disturbance.empty(); };
  if (!std::ranges::all_of(runs, disturbed)) std::erase_if(runs, disturbed);
  if (was_slow_at_first(runs)) runs.erase(runs.begin());
  return runs;
}

/// The standard error of one run, by the noise of its own steps.
double standard_error(const Throughput& throughput) {
  return (throughput.high - throughput.low) / (2 * kNormalQuantile);
}

/// What the last digit of a printed figure stands for: 0.1 for 10.4. At most 1, as nobody knows
/// whether the zeros at the end of a whole number were rounded.
double last_digit(double figure) {
  double scale = 1;
  const auto has_more = [&] {
    return std::abs(std::remainder(figure * scale, 1)) > 1e-9 * figure * scale;
  };
  while (has_more()) scale *= 10;
  return 1 / scale;
}

/// Half of the last digit of `run`'s figure, as a share of it. Of a printed "10.0" only 10 is known
/// here, so other figures of that size say how many digits there are. Some formats print fewer
/// behind the point of larger ones.
double rounding_of(const History& history, const FinishedTrial& run) {
  const double figure = run.result.throughput->samples_per_s;
  double digit = 1;
  for (const FinishedTrial& trial : history.trials()) {
    if (!trial.ok()) continue;
    const double other = trial.result.throughput->samples_per_s;
    if (std::floor(std::log10(other)) == std::floor(std::log10(figure))) {
      digit = std::min(digit, last_digit(other));
    }
  }
  return digit / 2 / figure;
}

/// Computes the spread of each finalist's runs without their own mean and without what all runs of
/// a round have in common.
void add_spread_within_rounds(const History& history, RunSpread& spread) {
  std::vector<std::vector<double>> rows;
  for (const Config& config : history.configs()) {
    const auto runs = successful_runs(history, config);
    const bool ran_in_rounds = std::ranges::any_of(runs, &FinishedTrial::confirms);
    if (runs.size() < 2 || !ran_in_rounds) continue;
    auto& row = rows.emplace_back();
    for (const FinishedTrial* run : runs) {
      row.push_back(std::log(run->score().samples_per_s));
    }
  }
  if (rows.size() < 2) return;
  // Only the rounds that every configuration ran, because plain means are then the least-squares
  // fit.
  size_t rounds = rows.front().size();
  for (const auto& row : rows) rounds = std::min(rounds, row.size());
  std::vector<double> round_means(rounds, 0.0);
  for (auto& row : rows) {
    row.resize(rounds);
    const double mean = mean_of(row);
    for (size_t i = 0; i < rounds; ++i) {
      row[i] -= mean;
      round_means[i] += row[i] / static_cast<double>(rows.size());
    }
  }
  double squares = 0;
  for (const auto& row : rows) {
    for (size_t i = 0; i < rounds; ++i) squares += std::pow(row[i] - round_means[i], 2);
  }
  spread.within_round_degrees = static_cast<int>((rows.size() - 1) * (rounds - 1));
  spread.within_round = std::sqrt(squares / spread.within_round_degrees);
}

}  // namespace

RunSpread spread_between_runs(const History& history) {
  RunSpread spread;
  double squares = 0;
  for (const Config& config : history.configs()) {
    const auto runs = successful_runs(history, config);
    if (runs.size() < 2) continue;
    const double mean = mean_rate(runs);
    for (const FinishedTrial* run : runs) {
      squares += std::pow(run->score().samples_per_s / mean - 1, 2);
    }
    spread.degrees_of_freedom += static_cast<int>(runs.size()) - 1;
  }
  if (spread.degrees_of_freedom > 0) {
    spread.relative = std::sqrt(squares / spread.degrees_of_freedom);
  }
  add_spread_within_rounds(history, spread);
  return spread;
}

std::optional<Estimate> estimate(const History& history, const Config& config,
                                 const RunSpread& spread) {
  const auto runs = successful_runs(history, config);
  if (runs.empty()) return std::nullopt;
  const auto count = static_cast<double>(runs.size());
  const double mean = mean_rate(runs);

  double within_squares = 0;
  for (const FinishedTrial* run : runs) {
    within_squares += std::pow(standard_error(run->score()), 2);
  }
  const double within = std::sqrt(within_squares) / count / mean;
  const double between = spread.relative / std::sqrt(count);

  Estimate result;
  result.runs = static_cast<int>(runs.size());
  result.has_confirming_run = std::ranges::any_of(runs, &FinishedTrial::confirms);
  const auto all_runs = history.runs_of(config);
  result.was_slow_once =
      was_slow_at_first(all_runs) && all_runs.front() != &history.trials().front();
  const double between_quantile = student_t(spread.degrees_of_freedom);
  const bool wider_between =
      spread.degrees_of_freedom > 0 && between * between_quantile > within * kNormalQuantile;
  result.step_error = within;
  result.relative_error = wider_between ? between : within;
  result.quantile = wider_between ? between_quantile : kNormalQuantile;
  // A single run has no interval by its rounding, because its noise is not known.
  if (spread.degrees_of_freedom > 0 && within == 0) {
    result.rounding =
        mean_over(runs, [&](const FinishedTrial& run) { return rounding_of(history, run); });
  }
  const double half = std::max(result.quantile * result.relative_error, result.rounding) * mean;
  result.score = {.samples_per_s = mean, .low = std::max(0.0, mean - half), .high = mean + half};
  result.throughput = scaled(result.score, mean_over(runs, [](const FinishedTrial& run) {
                               return run.result.throughput->samples_per_s;
                             }));
  const bool metered = std::ranges::all_of(
      runs, [](const auto* run) { return run->result.joules_per_sample.has_value(); });
  if (metered) {
    result.joules_per_sample =
        mean_over(runs, [](const FinishedTrial& run) { return *run.result.joules_per_sample; });
  }
  return result;
}

Ratio ratio(const Estimate& numerator, const Estimate& denominator, const RunSpread& spread) {
  const double value = numerator.score.samples_per_s / denominator.score.samples_per_s;
  double half = root_of_squares(numerator.quantile * numerator.relative_error,
                                denominator.quantile * denominator.relative_error);
  if (numerator.runs == denominator.runs && spread.within_round_degrees > 0) {
    const double steps =
        kNormalQuantile * root_of_squares(numerator.step_error, denominator.step_error);
    const double rounds = student_t(spread.within_round_degrees) * spread.within_round *
                          std::sqrt(2.0 / numerator.runs);
    half = std::max(steps, rounds);
  }
  // Both may be off in opposite directions, in each of their runs.
  half = std::max(half, numerator.rounding + denominator.rounding);
  return {.value = value, .low = value * std::exp(-half), .high = value * std::exp(half)};
}

}  // namespace redline::tuner
