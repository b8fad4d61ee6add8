#include "tuner/trial/trial_gpus.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "tests/temporary_folder.h"
#include "tests/variables.h"

namespace redline::tuner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StubGpus : public ::testing::Test, protected testing::Variables {
 protected:
  StubGpus() {
    set("REDLINE_STUB_GPUS", "4");
    set("REDLINE_STUB_USED_FILE", used_path_);
    use(703);
  }
  void use(int mib) const { std::ofstream(used_path_) << mib; }
  [[nodiscard]] static TrialGpus gpus(const std::optional<std::string>& visible) {
    return TrialGpus(visible, REDLINE_STUB_NVML);
  }

  const testing::TemporaryFolder folder_;
  const std::string used_path_ = folder_ / "gpu_used";
  std::atomic<StopRequest> stop_{StopRequest::kNone};
};

TEST_F(StubGpus, AreThoseThatTheTrialSees) {
  EXPECT_EQ(gpus(std::nullopt).count(), 4U);
  const TrialGpus some = gpus("2,GPU-1,7");
  ASSERT_EQ(some.count(), 2U) << "there is no seventh";
  EXPECT_EQ(some.name(0), "2");
  EXPECT_EQ(some.name(1), "GPU-1");
  EXPECT_EQ(gpus("0,-1,1").count(), 1U) << "CUDA looks no further";
  EXPECT_EQ(gpus("0,4,1").count(), 1U) << "nor behind a fifth of four";
  EXPECT_EQ(gpus("0,GPU-0,1").count(), 1U) << "nor behind one that nobody knows";
  EXPECT_EQ(gpus("").count(), 0U);
  EXPECT_EQ(TrialGpus(std::nullopt, "/no/such/library").count(), 0U);
  set("REDLINE_STUB_REFUSED", "1");
  EXPECT_EQ(gpus("0,1,2").count(), 1U) << "the second is lost";
  set("REDLINE_STUB_NVML_STATUS", "9");
  EXPECT_EQ(gpus(std::nullopt).count(), 0U) << "there is no driver";
}

TEST_F(StubGpus, TellEnergyOrAtLeastPower) {
  // The stub counts from the moment at which the clock was 0.
  const auto least = 2 * 512.3e-9 * static_cast<double>(monotonic_ns());
  const auto counted = gpus("0,1").power();
  ASSERT_TRUE(counted);
  EXPECT_GE(counted->joules, least - 0.01) << "in whole millijoules";
  EXPECT_LE(counted->joules, 2 * 512.3e-9 * static_cast<double>(monotonic_ns()));
  EXPECT_EQ(counted->watts, 0);
  set("REDLINE_STUB_OLD", "1");
  EXPECT_NEAR(gpus("0,1").power()->watts, 2 * 512.3, 0.01);
  set("REDLINE_STUB_DENIED", "1");
  EXPECT_FALSE(gpus("0,1").power());
  EXPECT_FALSE(gpus("").power());
}

TEST_F(StubGpus, ACounterThatFailsIsNotTakenForPower) {
  const TrialGpus both = gpus("0,1");
  ASSERT_TRUE(both.power());
  set("REDLINE_STUB_OLD", "1");
  EXPECT_FALSE(both.power()) << "what they counted so far would be missing from the sum";
}

TEST_F(StubGpus, MemoryThatWasNotToldBeforeIsNotAwaited) {
  const TrialGpus one = gpus("0");
  const GpuMemoryReturn told(one);
  use(-1);
  EXPECT_THAT(told.wait(std::chrono::nanoseconds(0), stop_), IsEmpty()) << "nor what is not now";
  const GpuMemoryReturn back(one);
  use(5000);
  EXPECT_THAT(back.wait(std::chrono::nanoseconds(0), stop_), IsEmpty());
}

TEST_F(StubGpus, MemoryThatComesBackIsAwaited) {
  const TrialGpus one = gpus("0");
  const GpuMemoryReturn back(one);
  use(5000);
  std::jthread driver([this] { use(710); });
  EXPECT_THAT(back.wait(std::chrono::hours(1), stop_), IsEmpty());
}

TEST_F(StubGpus, WhatTheDriverItselfMayTakeIsNotAwaited) {
  const TrialGpus one = gpus("0");
  const GpuMemoryReturn back(one);
  use(703 + 64);
  EXPECT_THAT(back.wait(std::chrono::nanoseconds(0), stop_), IsEmpty());
  use(703 + 65);
  EXPECT_THAT(back.wait(std::chrono::nanoseconds(0), stop_),
              ElementsAre(HasSubstr("GPU 0 holds 65.0 MiB more")));
}

TEST_F(StubGpus, WhoKeepsMemoryIsNamed) {
  const TrialGpus one = gpus("3");
  const GpuMemoryReturn back(one);
  use(5000);
  EXPECT_THAT(back.wait(std::chrono::nanoseconds(0), stop_),
              ElementsAre("GPU 3 holds 4.2 GiB more than before the trial: by no process that is "
                          "visible here"));
  set("REDLINE_STUB_HOLDER", std::to_string(getpid()));
  EXPECT_THAT(back.wait(std::chrono::nanoseconds(0), stop_),
              ElementsAre(HasSubstr("by process " + std::to_string(getpid()) + " (tuner_test)")));
}

TEST_F(StubGpus, NobodyWaitsWhoWantsToGoAtOnce) {
  const TrialGpus one = gpus("0");
  const GpuMemoryReturn back(one);
  use(5000);
  stop_ = StopRequest::kKill;
  EXPECT_THAT(back.wait(std::chrono::hours(1), stop_), ::testing::SizeIs(1));
}

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

TEST(EnergyMeter, TellsNothingOfTimesThatItDidNotSee) {
  EnergyMeter meter;
  for (const int second : {1, 2, 3}) meter.add(second * kSecond, {.joules = 100.0 * second});
  meter.add(3 * kSecond, {.joules = 999});
  meter.add(2 * kSecond, {.joules = 999});
  EXPECT_DOUBLE_EQ(*meter.between(kSecond, 3 * kSecond), 200)
      << "a clock that stands tells nothing";
  meter.add(4 * kSecond, {.joules = 400});
  EXPECT_DOUBLE_EQ(*meter.between(3 * kSecond, 7 * kSecond / 2), 50);
  EXPECT_FALSE(meter.between(kSecond - 1, 2 * kSecond));
  EXPECT_FALSE(meter.between(kSecond, 4 * kSecond + 1));
  EXPECT_FALSE(meter.between(2 * kSecond, 2 * kSecond));
  EXPECT_FALSE(meter.between(3 * kSecond, 2 * kSecond));
}

TEST(EnergyMeter, AShortMeasurementIsLessSure) {
  const Throughput rate{.samples_per_s = 100, .low = 99, .high = 101};
  const Throughput brief = samples_per_joule(0.5, rate, 1);
  const Throughput longer = samples_per_joule(0.5, rate, 100);
  EXPECT_DOUBLE_EQ(brief.samples_per_s, 2);
  EXPECT_NEAR(brief.high, 2.2, 0.01);
  EXPECT_NEAR(brief.low, 2 / 1.1005, 0.001) << "1 % of the rate and 10 % of the counter";
  EXPECT_NEAR(samples_per_joule(0.5, rate, 0).high, 4, 0.01);
  EXPECT_NEAR(longer.high, 2.02, 0.001);
}

}  // namespace

}  // namespace redline::tuner
