#include "tuner/search/trial_time.h"

#include <algorithm>
#include <numeric>

#include "base/statistics.h"

namespace redline::tuner {
namespace {

constexpr int kFitSteps = 6;
constexpr double kTimeError = 0.1;  ///< of a trial's time, relative to the usual time
constexpr double kLeastTime = 0.1;
/// What is known of the parts of a trial's time before any trial, relative to the usual time.
constexpr Prior kConstant = {0.8, 0.4};
constexpr Prior kPerStep = {0.1, 0.2};
constexpr Prior kPerSample = {0.0, 0.2};
constexpr Prior kValue = {0.0, 0.2};  ///< of one value of a knob

/// A trial that ended early tells nothing about one that does not.
bool ran_whole(const FinishedTrial& trial) {
  return trial.ok() && trial.score().samples_per_s > 0 && trial.result.message.empty();
}

}  // namespace

TrialTime::TrialTime(const Space& space, const History& history) : space_(space) {
  std::vector<const FinishedTrial*> whole;
  for (const FinishedTrial& trial : history.trials()) {
    if (ran_whole(trial)) whole.push_back(&trial);
  }
  std::vector<double> walls, steps, samples;
  for (const FinishedTrial* trial : whole) {
    const double rate = trial->score().samples_per_s;
    walls.push_back(std::chrono::duration<double>(trial->result.wall).count());
    steps.push_back(batch_of(history.effective(trial->config)) / rate);
    samples.push_back(1 / rate);
  }
  if (walls.empty()) return;
  const double usual = std::max(upper_median(walls), 1e-9);
  usual_ = std::chrono::nanoseconds(static_cast<int64_t>(1e9 * usual));
  usual_step_ = upper_median(steps);
  usual_sample_ = upper_median(samples);

  std::vector<std::vector<double>> rows;
  for (const FinishedTrial* trial : whole) {
    rows.push_back(features(history.effective(trial->config), trial->score().samples_per_s));
  }
  std::vector<Prior> priors = {kConstant, kPerStep, kPerSample};
  priors.resize(rows.front().size(), kValue);
  std::vector<double> means;
  for (const Prior& prior : priors) means.push_back(prior.mean);
  const Residuals residuals = [&](const std::vector<double>& parameters, std::vector<double>& out,
                                  std::optional<size_t>) {
    for (size_t i = 0; i < rows.size(); ++i) {
      out[i] = (std::inner_product(rows[i].begin(), rows[i].end(), parameters.begin(), 0.0) -
                walls[i] / usual) /
               kTimeError;
    }
  };
  parts_ = fit_parameters(priors, means, means, rows.size(), residuals, kFitSteps).parameters;
}

std::vector<double> TrialTime::features(const Config& effective, double rate) const {
  std::vector<double> row = {1, batch_of(effective) / rate / usual_step_, 1 / rate / usual_sample_};
  for (const Knob& knob : space_.knobs) {
    if (knob.is_numeric()) continue;
    const auto own = effective.find(knob.name);
    for (const std::string& value : knob.values) {
      row.push_back(own != effective.end() && own->second == value ? 1 : 0);
    }
  }
  return row;
}

double TrialTime::relative(const Config& effective, double rate) const {
  if (parts_.empty()) return 1;
  const std::vector<double> row = features(effective, rate);
  return std::max(kLeastTime, std::inner_product(row.begin(), row.end(), parts_.begin(), 0.0));
}

}  // namespace redline::tuner
