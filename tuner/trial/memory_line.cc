#include "tuner/trial/memory_line.h"

#include <algorithm>

namespace redline::tuner {
namespace {

/// Readings of equal jobs differ by a percent or so; growth below that says nothing.
constexpr double kTellingGrowth = 0.02;

}  // namespace

double MemoryLine::batch_within(uint64_t limit_bytes, double share) const {
  return (static_cast<double>(limit_bytes) * share - fixed_bytes) / bytes_per_sample;
}

std::optional<MemoryLine> borrow_memory_line(double fixed_bytes, const MemoryReading& reading) {
  const double activations = static_cast<double>(reading.peak_bytes) - fixed_bytes;
  if (activations < kTellingGrowth * static_cast<double>(reading.peak_bytes)) return std::nullopt;
  return MemoryLine{.fixed_bytes = fixed_bytes,
                    .bytes_per_sample = activations / static_cast<double>(reading.batch_size)};
}

std::optional<MemoryLine> fit_memory_line(std::vector<MemoryReading> readings) {
  std::sort(readings.begin(), readings.end(),
            [](const auto& a, const auto& b) { return a.batch_size < b.batch_size; });
  if (readings.size() < 2) return std::nullopt;
  const MemoryReading& far = readings.back();
  for (size_t i = readings.size() - 1; i-- > 0;) {
    const MemoryReading& near = readings[i];
    if (near.batch_size == far.batch_size) continue;
    const double growth =
        static_cast<double>(far.peak_bytes) - static_cast<double>(near.peak_bytes);
    if (growth < kTellingGrowth * static_cast<double>(far.peak_bytes)) continue;
    MemoryLine line;
    line.bytes_per_sample = growth / static_cast<double>(far.batch_size - near.batch_size);
    line.fixed_bytes = static_cast<double>(far.peak_bytes) -
                       line.bytes_per_sample * static_cast<double>(far.batch_size);
    return line;
  }
  return std::nullopt;
}

}  // namespace redline::tuner
