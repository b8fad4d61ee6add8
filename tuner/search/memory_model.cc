#include "tuner/search/memory_model.h"

#include <algorithm>
#include <cmath>

#include "tuner/search/frontier.h"
#include "tuner/search/normal_distribution.h"
#include "tuner/space/hook_knobs.h"

namespace redline::tuner {
namespace {

constexpr size_t kMembers = 24;
constexpr int kSteps = 10;
constexpr double kReadingError = 0.006;
/// Chance of a configuration if one with as much memory ran once.
constexpr double kRanBefore = 0.95;
constexpr double kRestingError = 0.4;  ///< of the logarithm of the fixed part
constexpr double kSoft = 0.012;        ///< memory is not full at exactly the same size each time
constexpr double kFull = 0.986;        ///< of a process's memory
constexpr Prior kReducedSlope = {-0.3, 0.2};
constexpr Prior kReducedSlopeOnCpu = {0.0, 0.2};
constexpr Prior kOtherSlope = {0.0, 0.04};
constexpr Prior kOtherFixed = {0.0, 0.01};
constexpr Prior kReducedFixed = {0.0, 0.02};
constexpr Prior kWorkspace = {0.02, 0.04};  ///< of knobs that choose among algorithms
constexpr double kWideLimit = 1.6;          ///< of the logarithm of an unknown limit
constexpr double kUsualRoom = 2.0;

enum Parameter : size_t { kFixed, kSlope, kInFlight, kPerWorker, kFixedCount };

/// The probability that the limit lies below `x`. Now and then another program, or the allocator,
/// takes a part of the memory.
double limit_below(const Prior& limit, double x) {
  return 0.93 * normal_below((x - limit.mean) / limit.deviation) +
         0.07 * normal_below((x - limit.mean) / (limit.deviation + 0.4));
}

}  // namespace

MemoryModel::MemoryModel(const Space& space, const SearchSettings& settings, const History& history)
    : space_(space), settings_(settings), history_(history) {
  fit();
  bound();
}

std::optional<uint64_t> MemoryModel::limit_bytes() const {
  if (settings_.memory_limit_bytes) return settings_.memory_limit_bytes;
  return history_.first_to_run().memory_capacity_bytes;
}

MemoryModel::Load MemoryModel::load(const Config& config) const {
  const Config all = history_.effective(config);
  Load load;
  for (size_t i = 0; i < space_.knobs.size(); ++i) {
    const Knob& knob = space_.knobs[i];
    const auto found = all.find(knob.name);
    if (found == all.end()) continue;
    const auto number = parse_integer(found->second);
    if (knob.name == "batch_size" && number) load.batch = std::max(1.0, double(*number));
    if (knob.name == "num_workers" && number) load.workers = static_cast<double>(*number);
    if (terms_[i] == 0) continue;
    const auto at = std::ranges::find(knob.values, found->second);
    if (at == knob.values.end()) continue;
    load.factors.push_back(terms_[i] + 2 * static_cast<size_t>(at - knob.values.begin()));
  }
  load.in_flight = load.batch * batches_in_flight(history_, config).value_or(0);
  return load;
}

bool MemoryModel::has_reading(const FinishedTrial& trial) const {
  const bool counts =
      trial.result.ranks > 0 || settings_.memory_limit_bytes || settings_.has_memory_metric;
  return trial.ok() && trial.result.peak_memory_bytes && counts;
}

double MemoryModel::log_peak(const std::vector<double>& p, const Load& load) const {
  double slope = p[kSlope], fixed = p[kFixed];
  for (const size_t factor : load.factors) {
    slope += p[factor];
    fixed += p[factor + 1];
  }
  const double samples = std::exp(slope) * load.batch + std::exp(p[kInFlight]) * load.in_flight +
                         std::exp(p[kPerWorker]) * load.workers;
  return std::log(has_readings_ ? samples + std::exp(fixed) : samples);
}

Prior MemoryModel::prior_of_fixed(double least_peak) const {
  const bool gpu = settings_.machine.gpu;
  // Between steps a rank holds its fixed part, and now and then outputs of the last step.
  double resting = HUGE_VAL;
  for (const FinishedTrial& trial : history_.trials()) {
    if (has_reading(trial) && trial.result.resting_memory_bytes.value_or(0) > 0) {
      resting = std::min(resting, static_cast<double>(*trial.result.resting_memory_bytes));
    }
  }
  if (gpu && resting < least_peak) return {std::log(resting), kRestingError};
  // Without a GPU the fixed part also has the process's libraries.
  return {std::log((gpu ? 0.4 : 0.8) * least_peak), gpu ? 1.0 : 0.4};
}

void MemoryModel::add_knobs() {
  priors_.resize(kFixedCount);
  for (const Knob& knob : space_.knobs) {
    const HookKnob* hook = find_hook_knob(knob.name);
    const bool moves =
        knob.values.size() > 1 && knob.name != "batch_size" && (!hook || hook->moves_memory);
    terms_.push_back(moves ? priors_.size() : 0);
    if (!moves) continue;
    for (const std::string& value : knob.values) {
      const bool reduced = knob.name == "amp" && value != "off";
      const Prior& slope = settings_.machine.gpu ? kReducedSlope : kReducedSlopeOnCpu;
      priors_.push_back(reduced ? slope : kOtherSlope);
      const bool chooses = knob.name == "cudnn_benchmark" || knob.name == "compile";
      priors_.push_back(reduced ? kReducedFixed : chooses ? kWorkspace : kOtherFixed);
    }
  }
}

std::vector<MemoryModel::Reading> MemoryModel::readings() const {
  std::vector<Reading> readings;
  for (const FinishedTrial& trial : history_.trials()) {
    if (!has_reading(trial)) continue;
    const auto peak = static_cast<double>(*trial.result.peak_memory_bytes);
    readings.push_back({.load = load(trial.config), .peak = peak, .log_peak = std::log(peak)});
  }
  return readings;
}

void MemoryModel::set_fixed_priors(const std::vector<Reading>& readings) {
  const bool gpu = settings_.machine.gpu;
  if (readings.empty()) {
    priors_[kFixed] = {0, gpu ? 1.0 : 0.4};
    priors_[kSlope] = {0, 1e-3};
  } else {
    const Reading& least = *std::ranges::min_element(readings, {}, &Reading::peak);
    priors_[kFixed] = prior_of_fixed(least.peak);
    priors_[kSlope] = {std::log(0.08 * least.peak / least.load.batch), 2.3};
    if (!gpu) {
      priors_[kInFlight] = {std::log(0.001 * least.peak / least.load.batch), 1.5};
      priors_[kPerWorker] = {std::log(0.008 * least.peak), 0.7};
      return;
    }
  }
  // The loader's waiting samples are in the host's memory. They only count for the process if there
  // is no GPU.
  priors_[kInFlight] = priors_[kPerWorker] = {-30, 0.1};
}

void MemoryModel::fit() {
  add_knobs();
  const std::vector<Reading> readings = this->readings();
  has_readings_ = !readings.empty();
  set_fixed_priors(readings);
  for (uint64_t member = 1; member <= kMembers; ++member) {
    std::vector<double> centre;
    for (size_t i = 0; i < priors_.size(); ++i) {
      centre.push_back(priors_[i].mean + priors_[i].deviation * normal_draw(member, 5000 + i));
    }
    if (readings.empty()) {
      members_.push_back(std::move(centre));
      continue;
    }
    const Residuals residuals = [&](const std::vector<double>& p, std::vector<double>& out,
                                    std::optional<size_t>) {
      for (size_t i = 0; i < readings.size(); ++i) {
        out[i] = (log_peak(p, readings[i].load) - readings[i].log_peak) / kReadingError +
                 normal_draw(member, 6000 + i);
      }
    };
    members_.push_back(
        fit_parameters(priors_, centre, centre, readings.size(), residuals, kSteps).parameters);
  }
}

void MemoryModel::bound() {
  const bool gpu = settings_.machine.gpu;
  std::optional<Prior> known;
  if (const auto limit = limit_bytes(); limit && has_readings_) {
    known = {std::log((gpu ? kThrashing : kFull) * static_cast<double>(*limit)),
             gpu ? 0.004 : 0.008};
  }
  std::vector<Load> loads;
  for (const FinishedTrial& trial : history_.trials()) loads.push_back(load(trial.config));
  for (const auto& member : members_) {
    const double first = log_peak(member, loads.front());
    Bounds bounds{.low = -HUGE_VAL,
                  .high = HUGE_VAL,
                  .weight = 1,
                  .limit = known.value_or(Prior{first + kUsualRoom, kWideLimit})};
    for (size_t i = 0; i < loads.size(); ++i) {
      const FinishedTrial& trial = history_.trials()[i];
      const double peak = log_peak(member, loads[i]);
      const bool failed = trial.out_of_memory() || trial.result.outcome == Outcome::kHang;
      if (trial.ok()) bounds.low = std::max(bounds.low, peak);
      if (failed && !trial.result.not_started && trial.result.outcome != Outcome::kShmFull) {
        bounds.high = std::min(bounds.high, peak);
      }
    }
    // If a fit puts a trial that ran above one that did not, it is less likely the wider that gap
    // is.
    const double gap = std::max(0.0, bounds.low - bounds.high);
    const double mass = std::max(
        1e-9, limit_below(bounds.limit, bounds.high) - limit_below(bounds.limit, bounds.low));
    bounds.weight = mass * std::exp(-std::pow(gap / (2 * kSoft), 2) / 2);
    bounds_.push_back(bounds);
  }
}

double MemoryModel::chance(const Config& config) const {
  const Load wanted = load(config);
  double sum = 0;
  double total = 0;
  for (size_t i = 0; i < members_.size(); ++i) {
    const Bounds& bounds = bounds_[i];
    const double peak = log_peak(members_[i], wanted);
    const Prior& limit = bounds.limit;
    total += bounds.weight;
    double fits = 0;
    if (peak <= bounds.low) {
      fits = kRanBefore;
    } else if (peak < bounds.high) {
      const double high = limit_below(limit, bounds.high);
      const double low = limit_below(limit, bounds.low);
      fits = (high - limit_below(limit, peak)) / std::max(1e-9, high - low);
    }
    // Close to a size that failed, a trial may fail, too.
    if (bounds.high < HUGE_VAL) fits *= normal_below((bounds.high - peak) / kSoft - 0.5);
    sum += bounds.weight * fits;
  }
  return total > 0 ? std::clamp(sum / total, 0.0, 1.0) : 0;
}

std::optional<double> MemoryModel::expected_bytes(const Config& config) const {
  if (!has_readings_) return std::nullopt;
  const Load wanted = load(config);
  double sum = 0;
  for (const auto& member : members_) sum += log_peak(member, wanted);
  return std::exp(sum / static_cast<double>(members_.size()));
}

bool MemoryModel::is_nearly_full(const Config& config) const {
  const auto limit = limit_bytes();
  if (!settings_.machine.gpu || !limit) return false;
  const auto expected = expected_bytes(config);
  return expected && *expected > kThrashing * static_cast<double>(*limit);
}

}  // namespace redline::tuner
