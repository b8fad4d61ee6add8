#include "tuner/trial/energy_meter.h"

#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(EnergyMeter, ReadsCountersBetweenTheirReadings) {
  EnergyMeter meter;
  for (const int second : {0, 1, 2, 4}) meter.add(second * kSecond, {.joules = 100.0 * second});
  EXPECT_DOUBLE_EQ(*meter.between(kSecond / 2, 3 * kSecond), 250);
  EXPECT_FALSE(meter.between(kSecond, 5 * kSecond)) << "beyond the last reading";
  EXPECT_FALSE(EnergyMeter().between(0, kSecond));
}

TEST(EnergyMeter, AddsThePowerOfGpusThatCountNoEnergy) {
  EnergyMeter meter;
  meter.add(0, {.joules = 1000, .watts = 10});
  meter.add(2 * kSecond, {.joules = 1200, .watts = 30});
  meter.add(4 * kSecond, {.joules = 1400, .watts = 30});
  EXPECT_DOUBLE_EQ(*meter.between(0, 4 * kSecond), 400 + 40 + 60);
}

TEST(EnergyMeter, AShortMeasurementIsLessSure) {
  const Throughput rate{.samples_per_s = 100, .low = 99, .high = 101};
  const Throughput brief = samples_per_joule(0.5, rate, 1);
  const Throughput longer = samples_per_joule(0.5, rate, 100);
  EXPECT_DOUBLE_EQ(brief.samples_per_s, 2);
  EXPECT_NEAR(brief.high, 2.2, 0.01);
  EXPECT_NEAR(longer.high, 2.02, 0.001);
}

}  // namespace
}  // namespace redline::tuner
