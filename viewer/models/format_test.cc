#include "viewer/models/format.h"

#include <gtest/gtest.h>

namespace redline::viewer {
namespace {

TEST(Format, Durations) {
  const std::pair<int64_t, const char*> cases[] = {
      {0, "0 ns"},
      {812, "812 ns"},
      {13'212, "13.2 µs"},
      {1'040, "1.04 µs"},
      {177'600'123, "177.6 ms"},
      {1'070'000'000, "1.07 s"},
      {125'000'000'000, "2 min 5 s"},
      {-1'500, "-1.50 µs"},
      {7'199'000'000'000, "119 min 59 s"},
      {7'260'000'000'000, "2 h 1 min"},
      {31'536'000'000'000'000, "365 d 0 h"},
      {INT64_MIN, "-106751 d 23 h"},
  };
  for (const auto& [ns, text] : cases) EXPECT_EQ(format_duration(ns), text);
  EXPECT_EQ(format_duration_exact(177'600'123), "177.600123 ms");
  EXPECT_EQ(format_duration_exact(17), "17 ns");
  EXPECT_EQ(format_time(0), "+0 ns");
  EXPECT_EQ(format_time(1'500), "+1.50 µs");
  EXPECT_EQ(format_time(-1'500), "-1.50 µs");
  EXPECT_EQ(format_time_exact(17), "+17 ns");
  EXPECT_EQ(format_time_exact(-100'343'000), "-100.343000 ms");
}

TEST(Format, LabelsLeaveOutWhatAKernelReturns) {
  EXPECT_EQ(label_of("void at::native::add<4>(int)"), "at::native::add<4>(int)");
  EXPECT_EQ(label_of("voider"), "voider");
  EXPECT_EQ(label_of("void "), "");
}

}  // namespace
}  // namespace redline::viewer
