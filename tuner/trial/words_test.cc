#include "tuner/trial/words.h"

#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Words, Durations) {
  EXPECT_EQ(duration_text(milliseconds(8240)), "8.2 s");
  EXPECT_EQ(duration_text(seconds(60)), "1 min");
  EXPECT_EQ(duration_text(seconds(432)), "7 min 12 s");
  EXPECT_EQ(duration_text(seconds(3 * 3600 + 300)), "3 h 5 min");
  EXPECT_EQ(*parse_duration("90"), seconds(90));
  EXPECT_EQ(*parse_duration("1.5h"), seconds(5400));
  EXPECT_EQ(*parse_duration("10m"), seconds(600));
  for (const char* wrong : {"", "m", "-1s", "0", "nan", "inf", "1e99h", "5 parsecs"}) {
    EXPECT_FALSE(parse_duration(wrong)) << wrong;
  }
}

TEST(Words, Sizes) {
  EXPECT_EQ(size_text(512ull << 20), "512 MiB");
  EXPECT_EQ(size_text(3329ull << 20), "3.3 GiB");
  EXPECT_EQ(*parse_size("2GiB"), 2ull << 30);
  EXPECT_EQ(*parse_size("1500MB"), 1'500'000'000ull);
  EXPECT_EQ(*parse_size("1.5 G"), 3ull << 29);
  EXPECT_EQ(*parse_size("4096"), 4096ull);
  for (const char* wrong : {"", "GiB", "0", "-1G", "1e30T", "1X", "nanG"}) {
    EXPECT_FALSE(parse_size(wrong)) << wrong;
  }
}

TEST(Words, Numbers) {
  EXPECT_EQ(number_text(1234567.2), "1,234,567");
  EXPECT_EQ(number_text(999.6), "1,000");
  EXPECT_EQ(number_text(31.42), "31.4");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text_like(3.21, 591), "3");
}

TEST(Words, ShellText) {
  EXPECT_EQ(shell_text({"a b", "it's", "--x=1", ""}), "'a b' 'it'\\''s' --x=1 ''");
}

TEST(Words, WidthCountsColumns) {
  EXPECT_EQ(right("± 3", 5), "  ± 3");
  EXPECT_EQ(left("out of memory", 6), "out o~");
}

}  // namespace
}  // namespace redline::tuner
