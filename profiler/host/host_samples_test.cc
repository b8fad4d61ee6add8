#include "profiler/host/host_samples.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace redline::profiler {
namespace {

/// Samples as lines such as "CPU 0 25 busy %".
std::string text_of(const std::vector<CounterSample>& samples) {
  std::ostringstream text;
  for (const auto& [track, unit, value] : samples) {
    text << track << " " << value << " " << unit << "\n";
  }
  return text.str();
}

constexpr int64_t kMib = int64_t{1} << 20;

TEST(HostSamples, AreSizesNowAndRatesSinceBefore) {
  const machine::HostReading before{.time_ns = 1'000'000'000,
                                    .machine = machine::CoreTime{0, 100, 1000},
                                    .cores = {},
                                    .cpu_ns = 4'000'000'000,
                                    .kernel_ns = 1'000'000'000,
                                    .resident_bytes = kMib,
                                    .shm_used_bytes = 0,
                                    .disk_read_bytes = 10'000'000,
                                    .page_faults = 50,
                                    .major_page_faults = 2,
                                    .workers = {{7, 100'000'000}, {8, 0}}};
  const machine::HostReading now{.time_ns = 1'500'000'000,
                                 .machine = machine::CoreTime{0, 175, 1100},
                                 .cores = {},
                                 .cpu_ns = 4'750'000'000,
                                 .kernel_ns = 1'150'000'000,
                                 .resident_bytes = 3 * kMib,
                                 .shm_used_bytes = kMib / 2,
                                 .disk_read_bytes = 11'000'000,
                                 .page_faults = 60,
                                 .major_page_faults = 2,
                                 .workers = {{7, 400'000'000}, {9, 1'000'000}}};
  EXPECT_EQ(text_of(host_samples(before, now)),
            "CPU 75 busy %\n"
            "Process CPU 150 % of a core\n"
            "Process CPU in the kernel 30 % of a core\n"
            "DataLoader worker 7 60 busy %\n"
            "Resident memory 3 MiB\n"
            "/dev/shm 0.5 MiB\n"
            "Disk read 2 MB/s\n"
            "Page faults 20 a second\n"
            "Major page faults 0 a second\n");
}

TEST(HostSamples, WhatWasNotToldGivesNone) {
  EXPECT_EQ(text_of(host_samples({}, {.time_ns = 5})), "");
  EXPECT_EQ(text_of(host_samples({.page_faults = 1}, {.page_faults = 2})), "");  // no time between
}

TEST(CoreSamples, OfCoresThatHadTicksSince) {
  const machine::HostReading before{.cores = {{0, 0, 0}, {1, 50, 100}, {2, 50, 100}, {3, 9, 100}}};
  const machine::HostReading now{
      .cores = {{0, 5, 20}, {1, 50, 100}, {2, 40, 120}, {3, 9, 110}, {4, 1, 1}}};
  EXPECT_EQ(text_of(core_samples(before, now)), "CPU 0 25 busy %\nCPU 3 0 busy %\n");
}

TEST(GpuSamples, AreWhatTheGpuTellsAndItsTrafficSinceBefore) {
  const nvml::GpuReading before = {.time_ns = 1'000'000'000, .nvlink_sent_bytes = 1'000'000};
  const nvml::GpuReading now = {.time_ns = 1'100'000'000,
                                .busy = 0.97,
                                .memory_busy = 0.5,
                                .memory_used_bytes = 3 << 20,
                                .power_w = 512.5,
                                .sm_clock_mhz = 1980,
                                .temperature_c = 64,
                                .ecc_uncorrected = 1,
                                .nvlink_sent_bytes = 3'000'000};
  EXPECT_EQ(text_of(gpu_counters(2, before, now)),
            "GPU 2 97 busy %\n"
            "GPU 2 memory bus 50 busy %\n"
            "GPU 2 memory 3 MiB\n"
            "GPU 2 power 512.5 W\n"
            "GPU 2 SM clock 1980 MHz\n"
            "GPU 2 temperature 64 °C\n"
            "GPU 2 NVLink sent 20 MB/s\n"
            "GPU 2 ECC errors 1 uncorrected\n");
  EXPECT_EQ(text_of(gpu_counters(0, {}, {})), "");
}

TEST(GpuSamples, TellWhyAGpuIsThrottledUntilItIsNot) {
  const nvml::GpuReading free = {.throttle_reasons = 0};
  const nvml::GpuReading capped = {.throttle_reasons = nvml::kPowerCap};
  EXPECT_EQ(text_of(gpu_counters(0, {}, capped)), "GPU 0 throttled 1 power cap\n");
  EXPECT_EQ(text_of(gpu_counters(0, capped, free)), "GPU 0 throttled 0 power cap\n");
  EXPECT_EQ(text_of(gpu_counters(0, free, free)), "");
}

}  // namespace
}  // namespace redline::profiler
