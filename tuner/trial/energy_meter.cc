#include "tuner/trial/energy_meter.h"

#include <algorithm>
#include <cmath>

namespace redline::tuner {
namespace {

constexpr double kCounterStep = 0.1;  // s, from one value of a GPU's counter to the next

}  // namespace

/// Where only power is told, it is taken to change evenly between two readings.
void EnergyMeter::add(int64_t time_ns, const TrialGpus::Power& power) {
  if (!readings_.empty()) {
    const Reading& last = readings_.back();
    if (time_ns <= last.time_ns) return;
    const double seconds = 1e-9 * static_cast<double>(time_ns - last.time_ns);
    integral_ += seconds * (last.watts + power.watts) / 2;
  }
  readings_.push_back({time_ns, power.joules + integral_, power.watts});
}

std::optional<double> EnergyMeter::between(int64_t begin_ns, int64_t end_ns) const {
  if (readings_.empty() || begin_ns >= end_ns) return std::nullopt;
  if (begin_ns < readings_.front().time_ns || end_ns > readings_.back().time_ns) {
    return std::nullopt;
  }
  return at(end_ns) - at(begin_ns);
}

double EnergyMeter::at(int64_t time_ns) const {
  const auto after =
      std::lower_bound(readings_.begin(), readings_.end(), time_ns,
                       [](const Reading& reading, int64_t time) { return reading.time_ns < time; });
  if (after == readings_.begin()) return after->joules;
  const Reading& before = *(after - 1);
  const double share = static_cast<double>(time_ns - before.time_ns) /
                       static_cast<double>(after->time_ns - before.time_ns);
  return before.joules + share * (after->joules - before.joules);
}

Throughput samples_per_joule(double joules_per_sample, const Throughput& rate, double seconds) {
  const double value = 1 / joules_per_sample;
  const double half = std::hypot((rate.high - rate.low) / (2 * rate.samples_per_s),
                                 kCounterStep / std::max(seconds, kCounterStep));
  return {.samples_per_s = value, .low = value / (1 + half), .high = value * (1 + half)};
}

}  // namespace redline::tuner
