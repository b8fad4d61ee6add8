#include "tuner/trial/host_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

namespace redline::tuner {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(MemoryWatch, ReadsTheStatusFile) {
  const MemorySizes sizes = parse_memory_sizes(
      "Name:\tVmData: 7\nVmPeak:\t  300 kB\nVmSize:\t  200 kB\nVmHWM:\t 9 kB\nVmData:\t  100 kB\n");
  EXPECT_EQ(sizes.whole_peak, 300U * 1024);
  EXPECT_EQ(sizes.whole, 200U * 1024);
  EXPECT_EQ(sizes.data, 100U * 1024);
  EXPECT_EQ(parse_memory_sizes("").data, 0U);
}

TEST(MemoryWatch, TheLargestProcessCounts) {
  MemoryWatch watch;
  EXPECT_EQ(watch.peak_bytes(), 0U);
  watch.add(1, {.data = 10 * kMiB, .whole = 50 * kMiB, .whole_peak = 50 * kMiB});
  watch.add(2, {.data = 30 * kMiB, .whole = 40 * kMiB, .whole_peak = 40 * kMiB});
  watch.add(2, {.data = 5 * kMiB, .whole = 15 * kMiB, .whole_peak = 40 * kMiB});
  EXPECT_EQ(watch.peak_bytes(), 30 * kMiB);
}

TEST(MemoryWatch, APeakBetweenTwoSamplesIsSeen) {
  MemoryWatch watch;
  watch.add(1, {.data = 10 * kMiB, .whole = 50 * kMiB, .whole_peak = 50 * kMiB});
  watch.add(1, {.data = 10 * kMiB, .whole = 50 * kMiB, .whole_peak = 90 * kMiB});
  EXPECT_EQ(watch.peak_bytes(), 50 * kMiB);  // 90 less the 40 that are not data
}

TEST(MemoryWatch, MappedFilesAreNoData) {
  MemoryWatch watch;
  watch.add(1, {.data = 10 * kMiB, .whole = 50 * kMiB, .whole_peak = 50 * kMiB});
  watch.add(1, {.data = 12 * kMiB, .whole = 900 * kMiB, .whole_peak = 900 * kMiB});
  EXPECT_EQ(watch.peak_bytes(), 12 * kMiB);
}

TEST(MemoryWatch, SeesThisProcessGrow) {
  MemoryWatch watch;
  watch.sample({getpid()});
  const uint64_t before = watch.peak_bytes();
  // The block is held while the watch samples, because earlier tests of this process may have had a
  // higher peak.
  const auto block = std::make_unique<char[]>(64 * kMiB);
  watch.sample({getpid()});
  EXPECT_GE(watch.peak_bytes(), before + 60 * kMiB);
  watch.sample({999'999'999});  // a process that is gone
}

}  // namespace
}  // namespace redline::tuner
