#include "tuner/search/frontier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tuner/space/knob.h"

namespace redline::tuner {
namespace {

constexpr int kUsualPrefetch = 2;  // PyTorch's default with workers
constexpr size_t kFewestTrials = 3;
constexpr int kDescents = 500;

/// What memory grows with: a constant, the workers, the batch size.
using Features = std::array<double, 3>;

struct Load {
  Features features;
  double in_flight = 0;  ///< samples in /dev/shm
};

struct Reading {
  Load load;
  HostUse use;
};

/// The script's own value counts also where the knob is not searched.
std::optional<double> number(const History& history, const Config& config, const char* knob) {
  const auto own = number_of(config, knob);
  return own ? own : number_of(history.defaults(), knob);
}

std::optional<Load> load_of(const History& history, const Config& config) {
  const std::optional<double> batch = number(history, config, "batch_size");
  const std::optional<double> workers = number(history, config, "num_workers");
  const auto batches = batches_in_flight(history, config);
  if (!batch || !batches) return std::nullopt;
  return Load{{1, workers.value_or(0), *batch}, *batches * *batch};
}

/// The trials that tell about memory. Those that ran beside others are left out, because they see
/// each other's use.
std::vector<Reading> readings_of(const History& history) {
  std::vector<Reading> readings;
  for (const FinishedTrial& trial : history.trials()) {
    const auto& use = trial.result.host_use;
    if (!trial.ok() || !use || trial.result.neighbours > 0) continue;
    if (const auto load = load_of(history, trial.config)) readings.push_back({*load, *use});
  }
  return readings;
}

bool covers(const Load& ran, const Load& wanted) {
  return ran.in_flight >= wanted.in_flight && ran.features[1] >= wanted.features[1] &&
         ran.features[2] >= wanted.features[2];
}

/// Predicts /dev/shm by a line through the fewest and the most samples in flight; its fixed part is
/// what ranks share among themselves. With a single number of samples no growth is known.
double predict_shm(const std::vector<Reading>& readings, double in_flight) {
  const auto [least, most] = std::ranges::minmax_element(
      readings, {}, [](const Reading& reading) { return reading.load.in_flight; });
  const auto fixed = static_cast<double>(least->use.shm_bytes);
  const double growth = static_cast<double>(most->use.shm_bytes) - fixed;
  const double span = most->load.in_flight - least->load.in_flight;
  if (growth <= 0 || span <= 0) return fixed;
  return std::max(0.0, fixed + growth / span * (in_flight - least->load.in_flight));
}

/// Fits by least squares without negative parts, by coordinate descent.
Features fit_memory(const std::vector<Reading>& readings) {
  Features parts = {};
  for (int round = 0; round < kDescents; ++round) {
    for (size_t part = 0; part < parts.size(); ++part) {
      double along = 0;
      double square = 0;
      for (const Reading& reading : readings) {
        const Features& x = reading.load.features;
        double rest = static_cast<double>(reading.use.memory_bytes) -
                      static_cast<double>(reading.use.shm_bytes);
        for (size_t other = 0; other < parts.size(); ++other) {
          if (other != part) rest -= parts[other] * x[other];
        }
        along += rest * x[part];
        square += x[part] * x[part];
      }
      parts[part] = square > 0 ? std::max(0.0, along / square) : 0;
    }
  }
  return parts;
}

}  // namespace

std::optional<double> batches_in_flight(const History& history, const Config& config) {
  const std::optional<double> workers = number(history, config, "num_workers");
  const std::optional<double> prefetch = number(history, config, "prefetch_factor");
  if (!workers) return std::nullopt;
  return *workers * prefetch.value_or(kUsualPrefetch);
}

std::optional<HostUse> predict_host_use(const History& history, const Config& config) {
  const auto wanted = load_of(history, config);
  const std::vector<Reading> readings = readings_of(history);
  if (!wanted || readings.size() < kFewestTrials) return std::nullopt;
  for (const Reading& reading : readings) {
    if (covers(reading.load, *wanted)) return std::nullopt;
  }
  const double shm = predict_shm(readings, wanted->in_flight);
  double memory = shm;
  const Features parts = fit_memory(readings);
  for (size_t part = 0; part < parts.size(); ++part) memory += parts[part] * wanted->features[part];
  return HostUse{.memory_bytes = static_cast<uint64_t>(memory),
                 .shm_bytes = static_cast<uint64_t>(shm)};
}

}  // namespace redline::tuner
