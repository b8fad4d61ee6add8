#include "tuner/trial/host_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "base/file.h"

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
  EXPECT_EQ(parse_memory_sizes("VmRSS:\t 3 kB\n").resident, 3U * 1024);
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

TEST(MemoryWatch, APeakFromBeforeItLookedIsNotTheTrials) {
  MemoryWatch watch;
  for (int look = 0; look < 2; ++look) {
    watch.add(1, {.data = 10 * kMiB, .whole = 50 * kMiB, .whole_peak = 90 * kMiB});
  }
  EXPECT_EQ(watch.peak_bytes(), 10 * kMiB);
}

TEST(MemoryWatch, MappedFilesAreNoData) {
  MemoryWatch watch;
  watch.add(1, {.data = 10 * kMiB, .whole = 50 * kMiB, .whole_peak = 50 * kMiB});
  watch.add(1, {.data = 12 * kMiB, .whole = 900 * kMiB, .whole_peak = 900 * kMiB});
  EXPECT_EQ(watch.peak_bytes(), 12 * kMiB);
}

TEST(MemoryWatch, AProcessThatIsGoneTellsNothing) {
  MemoryWatch watch;
  watch.add(1, {.data = 0, .whole = 0, .whole_peak = 0});
  watch.add(1, {.data = 10 * kMiB, .whole = 9 * kMiB, .whole_peak = 9 * kMiB});
  EXPECT_EQ(watch.peak_bytes(), 0U) << "its file was read while it ended";
  watch.add(1, {.data = 9 * kMiB, .whole = 9 * kMiB, .whole_peak = 9 * kMiB});
  EXPECT_EQ(watch.peak_bytes(), 9 * kMiB);
  watch.add(2, {.data = 0, .whole = 0, .whole_peak = 0});
  watch.add(2, {.data = 5 * kMiB, .whole = 6 * kMiB, .whole_peak = 90 * kMiB});
  EXPECT_EQ(watch.peak_bytes(), 9 * kMiB) << "a later one of the same number had its peak before";
  watch.sample({});
  EXPECT_EQ(watch.resident_bytes(), 0U);
  watch.sample({getpid()});
  const uint64_t one = watch.resident_bytes();
  EXPECT_GT(one, kMiB);
  watch.sample({getpid(), getpid()});
  EXPECT_GE(watch.resident_bytes(), 2 * one - kMiB) << "of all processes together";
  const uint64_t both = watch.resident_bytes();
  watch.sample({});
  EXPECT_EQ(watch.resident_bytes(), both) << "the most";
}

TEST(HostRoom, OnlyAClearLackIsOne) {
  const HostRoom room{.memory_bytes = 1000 * kMiB, .shm_bytes = 100 * kMiB};
  const auto lack = [&](uint64_t memory, uint64_t shm) {
    return lacking({.memory_bytes = memory * kMiB, .shm_bytes = shm * kMiB}, room);
  };
  EXPECT_FALSE(lack(1250, 125));
  EXPECT_EQ(lack(1251, 125), Outcome::kHostOom);
  EXPECT_EQ(lack(1251, 126), Outcome::kShmFull) << "first what is smaller";
  EXPECT_FALSE(lacking({.memory_bytes = 1, .shm_bytes = 1}, {}));
  EXPECT_EQ(lacking_text({.memory_bytes = 1251 * kMiB, .shm_bytes = 0}, room),
            "not started: needs 1.2 GiB of host memory, 1000.0 MiB free");
  EXPECT_EQ(lacking_text({.memory_bytes = 0, .shm_bytes = 126 * kMiB}, room),
            "not started: needs 126.0 MiB of /dev/shm, 100.0 MiB free");
}

/// Takes of /dev/shm until it is closed.
FileDescriptor file_in_shm() {
  FileDescriptor file(open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  EXPECT_EQ(posix_fallocate(file.get(), 0, 16 * kMiB), 0);
  return file;
}

TEST(HostWatch, KeepsTheMostThatWasTaken) {
  EXPECT_TRUE(host_room().memory_bytes);
  EXPECT_TRUE(host_room().shm_bytes);
  // Others may give back as much at the same moment, so it is tried again.
  bool is_seen = false;
  for (int look = 0; look < 100 && !is_seen; ++look) {
    HostWatch watch;
    {
      const FileDescriptor file = file_in_shm();
      watch.sample();
    }
    watch.sample();
    is_seen = watch.most().shm_bytes > 8 * kMiB;
  }
  EXPECT_TRUE(is_seen);
}

TEST(HostWatch, WhatIsGivenBackIsNotTaken) {
  std::optional<FileDescriptor> file(file_in_shm());
  HostWatch watch;
  file.reset();
  watch.sample();
  EXPECT_LT(watch.most().shm_bytes, uint64_t{1} << 50) << "no less than nothing";
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
