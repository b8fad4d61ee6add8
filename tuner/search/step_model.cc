#include "tuner/search/step_model.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <string_view>

#include "base/root_of_squares.h"
#include "base/statistics.h"
#include "tuner/search/estimate.h"
#include "tuner/search/surrogate.h"
#include "tuner/space/hook_knobs.h"

namespace redline::tuner {
namespace {

constexpr size_t kStepMembers = 32;
constexpr int kStepFitSteps = 12;
/// From one run to the next, as long as no configuration ran twice.
constexpr double kUsualNoise = 0.025;
constexpr double kUsualNoiseWeight = 4;  ///< the usual noise counts as so many trials
constexpr double kLeastNoise = 0.006;
/// A run that differs more than this from the others of its configuration is no usual noise.
constexpr double kWildNoise = 0.125;
constexpr double kDisturbed = 5;  ///< times the noise
constexpr double kWaitError = 0.06;
/// A fit whose misfit exceeds the best one's by this lies in another valley.
constexpr double kImplausible = 8;
/// Matrix units are fast with batch sizes that are multiples of this.
constexpr double kMultipleOf = 8;
/// What a fit must explain better if it takes memory for nearly full, as a misfit.
constexpr double kFullIsUnlikely = 1;

/// What is known about a switch before any trial: the logarithm of the factor by which it makes
/// samples faster.
struct Usual {
  std::string_view knob;
  Prior factor;
};
constexpr std::array<Usual, 9> kUsual = {{{"channels_last", {0.0, 0.12}},
                                          {"cudnn_benchmark", {0.05, 0.08}},
                                          {"tf32", {0.1, 0.15}},
                                          {"compile", {0.1, 0.2}},
                                          {"pin_memory", {0.02, 0.05}},
                                          {"persistent_workers", {0.02, 0.04}},
                                          {"optimizer", {0.01, 0.04}},
                                          {"zero_grad", {0.0, 0.02}},
                                          {"malloc", {0.1, 0.12}}}};
constexpr Prior kUnknownFactor = {0.0, 0.15};
constexpr Prior kReducedOnGpu = {0.35, 0.5};
constexpr Prior kReducedOnCpu = {0.0, 0.4};
constexpr Prior kReducedOther = {0.0, 0.2};  ///< of one reduced precision compared with another
constexpr double kAdvised = 0.1;
/// Trials side by side share memory bandwidth and disk. The logarithm of what that costs.
constexpr Prior kFasterAlone = {0.1, 0.2};

bool is_reduced(const std::string& amp) { return amp == "bf16" || amp == "fp16"; }

bool ran_alone(const FinishedTrial& trial) { return trial.result.neighbours == 0; }

/// The rates of those runs that gave one, alone or beside others.
std::vector<double> rates_of(const std::vector<const FinishedTrial*>& runs, bool alone) {
  std::vector<double> rates;
  for (const FinishedTrial* run : runs) {
    if (!run->ok() || ran_alone(*run) != alone) continue;
    if (run->score().samples_per_s > 0) rates.push_back(run->score().samples_per_s);
  }
  return rates;
}

/// The longer of two times, with a smooth transition where they are alike.
double longer(double a, double b, double softness) {
  const double high = std::max(a, b);
  const double low = std::min(a, b);
  return high * std::exp(std::log1p(std::exp(softness * std::log(low / high))) / softness);
}

}  // namespace

StepModel::StepModel(const Space& space, const SearchSettings& settings, const History& history,
                     const MemoryModel& memory)
    : space_(space), settings_(settings), history_(history), memory_(memory) {
  set_priors();
  observe();
  fit();
}

void StepModel::set_priors() {
  double fastest = 0;
  for (const FinishedTrial& trial : history_.trials()) {
    if (trial.ok()) fastest = std::max(fastest, trial.score().samples_per_s);
  }
  assert(fastest > 0);
  const double peak = std::log(fastest) + 0.4;
  const int ranks = std::max(1, history_.first_to_run().ranks);
  const double cores = std::max(1.0, static_cast<double>(settings_.machine.cores) / ranks);
  const bool gpu = settings_.machine.gpu;
  priors_.resize(kFixedCount);
  priors_[kPeak] = {peak, 1.0};
  priors_[kHalfBatch] = {std::log(12), 2.0};
  priors_[kSoftness] = {std::log(3), 0.5};
  priors_[kReducedLaunch] = {0.08, 0.1};
  priors_[kDecline] = {std::log(0.012), 1.5};
  priors_[kDeclineFrom] = {std::log(200), 1.2};
  priors_[kLoader] = {peak - 0.3, 1.6};
  priors_[kCores] = {std::log(cores), 0.4};
  priors_[kCrowd] = {0.02, 0.02};
  priors_[kOverlap] = {std::log(0.04), 0.6};
  priors_[kStolen] = gpu ? Prior{0.002, 0.006} : Prior{0.2 / cores, 0.3 / cores};
  priors_[kOddBatch] = gpu ? Prior{0.12, 0.12} : Prior{0.0, 0.03};
  priors_[kNoWorker] = {0, 0.1};
  priors_[kFull] = {0.2, 0.08};
  for (const Knob& knob : space_.knobs) {
    terms_.emplace_back();
    if (knob.name == "batch_size" || knob.name == "num_workers") {
      if (knob.is_numeric()) continue;
    }
    if (knob.is_numeric()) {
      add_number(knob);
    } else {
      add_choice(knob);
    }
  }
  if (space_.find("amp") && space_.find("channels_last")) {
    layout_with_amp_ = priors_.size();
    priors_.push_back(gpu ? Prior{0.08, 0.12} : Prior{0.0, 0.15});
  }
  if (history_.ran_side_by_side()) {
    alone_ = priors_.size();
    priors_.push_back(kFasterAlone);
  }
}

void StepModel::add_choice(const Knob& knob) {
  KnobTerms& terms = terms_.back();
  Prior prior = kUnknownFactor;
  for (const Usual& usual : kUsual) {
    if (usual.knob == knob.name) prior = usual.factor;
  }
  // A switch brings less on the kind of machine that it is not made for.
  const HookKnob* hook = find_hook_knob(knob.name);
  const bool is_for_cpu = hook != nullptr && hook->needs_cpu;
  if (settings_.machine.gpu == is_for_cpu) prior.mean /= 2;
  if (knob.name == "amp") {
    terms.reduced = priors_.size();
    priors_.push_back(settings_.machine.gpu ? kReducedOnGpu : kReducedOnCpu);
    prior = kReducedOther;
  }
  const auto& advised = space_.advised;
  if (std::ranges::find(advised, knob.name) != advised.end()) {
    prior.mean += kAdvised;
  }
  terms.first = priors_.size();
  priors_.insert(priors_.end(), knob.values.size(), prior);
}

/// Adds a slope and a bend over the knob's orders of magnitude.
void StepModel::add_number(const Knob& knob) {
  KnobTerms& terms = terms_.back();
  const Config all = history_.effective(history_.trials().front().config);
  const double from = knob.by_size(static_cast<double>(knob.low));
  const double to = knob.by_size(static_cast<double>(knob.high));
  terms.span = std::max(to - from, 1.0);
  terms.reference = knob.by_size(double(number_of(all, knob.name).value_or(knob.low)));
  terms.first = priors_.size();
  const double wide = std::clamp(0.12 * terms.span, 0.15, 1.0);
  priors_.push_back({0.0, wide});
  priors_.push_back({0.0, wide / 2});
}

Place StepModel::place(const Config& config, bool alone) const {
  const Config all = history_.effective(config);
  const Config reference = history_.effective(history_.trials().front().config);
  Place place;
  place.batch = batch_of(all);
  place.workers = number_of(all, "num_workers");
  place.reduced = is_reduced(value_of(all, "amp"));
  if (layout_with_amp_ && place.reduced && value_of(all, "channels_last") == "on") {
    place.factors.emplace_back(*layout_with_amp_, 1);
  }
  for (size_t i = 0; i < space_.knobs.size(); ++i) {
    const Knob& knob = space_.knobs[i];
    const KnobTerms& terms = terms_[i];
    if (terms.first == 0) continue;
    const std::string value = value_of(all, knob.name);
    if (knob.is_numeric()) {
      const auto number = number_of(all, knob.name);
      if (!number) continue;
      const double away = (knob.by_size(double(*number)) - terms.reference) / terms.span;
      place.factors.emplace_back(terms.first, away);
      place.factors.emplace_back(terms.first + 1, away * away);
      continue;
    }
    if (knob.name == "amp" ? !is_reduced(value) : value == value_of(reference, knob.name)) continue;
    if (terms.reduced != 0) place.factors.emplace_back(terms.reduced, 1);
    const auto at = std::ranges::find(knob.values, value);
    if (at != knob.values.end()) {
      place.factors.emplace_back(terms.first + static_cast<size_t>(at - knob.values.begin()), 1);
    }
  }
  place.is_full = memory_.is_nearly_full(config);
  place.may_be_full = full_memory_.is_at(place.batch, place.reduced);
  place.alone = alone && alone_;
  place.point = point_of(space_, history_, config);
  return place;
}

StepParts StepModel::predict(const std::vector<double>& p, bool memory_full,
                             const Place& place) const {
  double speed = p[kPeak];
  for (const auto& [parameter, share] : place.factors) speed += share * p[parameter];
  if (place.reduced && std::fmod(place.batch, kMultipleOf) != 0) {
    speed -= std::max(0.0, p[kOddBatch]);
  }
  const double workers = place.workers.value_or(0);
  const double launch =
      std::exp(p[kHalfBatch] - p[kPeak] + (place.reduced ? p[kReducedLaunch] : 0));
  double compute = longer(launch, place.batch * std::exp(-speed), std::exp(p[kSoftness]));
  const double beyond = std::log2(place.batch) - p[kDeclineFrom] / std::log(2.0);
  if (beyond > 0) compute *= 1 + std::exp(p[kDecline]) * beyond;
  compute *= 1 + std::max(0.0, p[kStolen]) * workers;
  if (place.is_full || (memory_full && place.may_be_full))
    compute *= std::exp(std::max(0.0, p[kFull]));
  const double beside = place.alone ? std::exp(-std::max(0.0, p[*alone_])) : 1;
  compute *= beside;
  if (!place.workers) {
    return {.rate = place.batch / compute, .compute = place.batch / compute, .loader = HUGE_VAL};
  }
  const double cores = std::exp(p[kCores]);
  const double crowd = 1 + std::max(0.0, p[kCrowd]) * std::max(0.0, workers - cores);
  const double hands =
      workers == 0 ? std::exp(p[kNoWorker]) : std::min(workers, std::max(1.0, cores));
  const double loader = beside * place.batch * std::exp(-p[kLoader]) / hands * crowd;
  const double step =
      workers == 0 ? compute + loader
                   : std::max(compute, loader) + std::exp(p[kOverlap]) * std::min(compute, loader);
  const double waiting = workers == 0 ? loader : std::max(0.0, loader - compute);
  return {.rate = place.batch / step,
          .compute = place.batch / compute,
          .loader = place.batch / loader,
          .wait_share = waiting / step};
}

bool StepModel::depends_on(const Place& place, size_t parameter) const {
  if (parameter < kFixedCount || (place.alone && parameter == alone_)) return true;
  return std::ranges::any_of(place.factors,
                             [&](const auto& its) { return its.first == parameter; });
}

void StepModel::measure_noise() {
  double squares = kUsualNoiseWeight * kUsualNoise * kUsualNoise;
  double weight = kUsualNoiseWeight;
  for (const Config& config : history_.configs()) {
    for (const bool alone : {false, true}) {
      const std::vector<double> rates = rates_of(history_.runs_of(config), alone);
      if (rates.size() < 2) continue;
      const double mean = mean_of(rates);
      for (const double rate : rates) {
        squares += std::min(std::pow(rate / mean - 1, 2), kWildNoise * kWildNoise);
        weight += 1 - 1 / static_cast<double>(rates.size());
      }
    }
  }
  noise_ = std::sqrt(squares / weight);
}

/// Only the rate can tell it, so one trial whose memory is known ends the suspicion.
void StepModel::suspect_full_memory() {
  std::vector<BatchRate> seen;
  for (const FinishedTrial& trial : history_.trials()) {
    if (!trial.ok() || trial.score().samples_per_s <= 0) continue;
    if (trial.result.peak_memory_bytes) return;
    if (history_.ran_side_by_side() && ran_alone(trial)) continue;  // another kind of rate
    const Place its = place(trial.config);
    seen.push_back({its.batch, trial.score().samples_per_s, its.reduced});
  }
  full_memory_ = FullMemory(seen);
}

void StepModel::observe() {
  measure_noise();
  suspect_full_memory();
  for (const FinishedTrial& trial : history_.trials()) {
    if (!trial.ok() || trial.score().samples_per_s <= 0) continue;
    const Throughput& score = trial.score();
    const bool alone = ran_alone(trial);
    const std::vector<double> rates = rates_of(history_.runs_of(trial.config), alone);
    // Something slowed this run by a multiple, as another run of the same configuration shows.
    if (!rates.empty() && score.samples_per_s < kSlowedDown * std::ranges::max(rates)) continue;
    const double steps = (score.high - score.low) / (2 * kNormalQuantile * score.samples_per_s);
    observations_.push_back(
        {.place = place(trial.config, alone),
         .log_rate = std::log(score.samples_per_s),
         .error = trial.result.disturbance.empty() ? steps : kDisturbed * noise_,
         .wait_share = trial.result.data_wait_share});
  }
}

StepModel::Member StepModel::fit_member(uint64_t number, bool shifted, bool memory_full) const {
  std::vector<double> centre;
  for (size_t i = 0; i < priors_.size(); ++i) {
    const double draw = shifted || number > 0 ? normal_draw(number, i) : 0;
    centre.push_back(priors_[i].mean + priors_[i].deviation * draw);
  }
  // Half of the fits start elsewhere to look for other valleys, half start from the likeliest fit.
  std::vector<double> start = shifted && number % 2 == 0 ? likeliest_.fit.parameters : centre;
  if (!shifted) {
    for (size_t i = 0; i < priors_.size(); ++i) centre[i] = priors_[i].mean;
  }
  std::vector<double> shifts;
  for (size_t i = 0; i < observations_.size(); ++i) {
    shifts.push_back(shifted ? normal_draw(number, 1000 + i) : 0);
  }
  const Residuals residuals = [&](const std::vector<double>& parameters, std::vector<double>& out,
                                  std::optional<size_t> moved) {
    for (size_t i = 0; i < observations_.size(); ++i) {
      const Observation& seen = observations_[i];
      if (moved && !depends_on(seen.place, *moved)) continue;
      const StepParts parts = predict(parameters, memory_full, seen.place);
      const double error = root_of_squares(seen.error, noise_);
      out[2 * i] = (std::log(parts.rate) - seen.log_rate) / error + shifts[i];
      out[2 * i + 1] = seen.wait_share && seen.place.workers
                           ? (parts.wait_share - *seen.wait_share) / kWaitError
                           : 0;
    }
  };
  Fit fit = fit_parameters(priors_, centre, std::move(start), 2 * observations_.size(), residuals,
                           kStepFitSteps);
  if (memory_full) fit.misfit += kFullIsUnlikely;
  return {.fit = std::move(fit), .memory_full = memory_full};
}

void StepModel::fit_likeliest() {
  constexpr uint64_t kStarts = 4;
  likeliest_.fit.misfit = HUGE_VAL;
  for (const bool memory_full : {false, true}) {
    if (memory_full && !full_memory_.is_suspected()) continue;
    for (uint64_t start = 0; start < kStarts; ++start) {
      Member member = fit_member(start, false, memory_full);
      if (member.fit.misfit < likeliest_.fit.misfit) likeliest_ = std::move(member);
    }
  }
}

void StepModel::fit_members() {
  for (uint64_t number = 1; number <= kStepMembers; ++number) {
    const bool memory_full = full_memory_.is_suspected() && number / 2 % 2 == 1;
    members_.push_back(fit_member(number, true, memory_full));
  }
  double best = HUGE_VAL;
  for (const Member& member : members_) best = std::min(best, member.fit.misfit);
  const double slack = kImplausible + static_cast<double>(observations_.size()) / 2;
  std::erase_if(members_, [&](const Member& member) { return member.fit.misfit > best + slack; });
}

void StepModel::fit() {
  fit_likeliest();
  // What the likeliest fit misses counts as noise, too, as far as it is not explained below.
  std::vector<double> left;
  std::vector<Point> points;
  double squares = 0;
  for (const Observation& seen : observations_) {
    left.push_back(
        std::clamp(seen.log_rate - std::log(predict(likeliest_, seen.place).rate), -0.5, 0.5));
    points.push_back(seen.place.point);
    squares += std::min(left.back() * left.back(), 9 * noise_ * noise_);
  }
  const auto count = static_cast<double>(observations_.size());
  noise_ = std::max(kLeastNoise, std::sqrt((kUsualNoiseWeight * noise_ * noise_ + squares) /
                                           (kUsualNoiseWeight + count)));
  fit_members();
  if (count >= 4) {
    const auto shape = GaussianProcess::fit(first_shape(space_), points, left);
    rest_.emplace(shape, std::move(points), std::move(left));
  }
}

StepParts StepModel::parts(size_t member, const Place& place) const {
  return predict(members_[member], place);
}

StepParts StepModel::parts(const Place& place) const { return predict(likeliest_, place); }

std::vector<double> StepModel::log_rates(const Place& place) const {
  const double correction = rest_ ? rest_->value_at(place.point) : 0;
  std::vector<double> rates;
  rates.reserve(members_.size());
  for (const Member& member : members_) {
    rates.push_back(std::log(predict(member, place).rate) + correction);
  }
  return rates;
}

double StepModel::unexplained(const Place& place) const {
  return rest_ ? rest_->at(place.point).deviation : 0;
}

}  // namespace redline::tuner
