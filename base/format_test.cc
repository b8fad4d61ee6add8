#include "base/format.h"

#include <gtest/gtest.h>

namespace redline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Format, Durations) {
  EXPECT_EQ(format_wait(milliseconds(8240)), "8.2 s");
  EXPECT_EQ(format_wait(seconds(60)), "1 min");
  EXPECT_EQ(format_wait(seconds(432)), "7 min 12 s");
  EXPECT_EQ(format_wait(seconds(3 * 3600 + 300)), "3 h 5 min");
  EXPECT_EQ(*parse_duration("90"), seconds(90));
  EXPECT_EQ(*parse_duration("1.5h"), seconds(5400));
  EXPECT_EQ(*parse_duration("10m"), seconds(600));
  for (const char* wrong : {"", "m", "-1s", "0", "nan", "inf", "1e99h", "5 parsecs"}) {
    EXPECT_FALSE(parse_duration(wrong)) << wrong;
  }
}

TEST(Format, Sizes) {
  EXPECT_EQ(format_bytes(512ll << 20), "512.0 MiB");
  EXPECT_EQ(format_bytes(3329ll << 20), "3.3 GiB");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(*parse_size("2GiB"), 2ull << 30);
  EXPECT_EQ(*parse_size("1500MB"), 1'500'000'000ull);
  EXPECT_EQ(*parse_size("64kb"), 64'000ull);
  EXPECT_EQ(*parse_size("1.5 G"), 3ull << 29);
  EXPECT_EQ(*parse_size("512Mi"), 512ull << 20) << "as Kubernetes writes it";
  EXPECT_EQ(*parse_size("4096"), 4096ull);
  for (const char* wrong : {"", "GiB", "0", "-1G", "1e30T", "1X", "nanG"}) {
    EXPECT_FALSE(parse_size(wrong)) << wrong;
  }
}

TEST(Format, Numbers) {
  EXPECT_EQ(format_number(1234567.2), "1,234,567");
  EXPECT_EQ(format_number(999.6), "1,000");
  EXPECT_EQ(format_number(31.42), "31.4");
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(-0.052), "-0.0520");
  EXPECT_EQ(format_number(9012.4), "9,012");
  EXPECT_EQ(format_number(99.96), "100");
  EXPECT_EQ(format_number(1.5), "1.50");
  EXPECT_EQ(format_count(-1'234'567), "-1,234,567");
  EXPECT_EQ(format_count(-123), "-123");
  EXPECT_EQ(format_number_like(3.21, 591), "3");
}

TEST(Format, Commands) {
  EXPECT_EQ(format_command({"a b", "it's", "--x=1", ""}), "'a b' 'it'\\''s' --x=1 ''");
}

TEST(Format, TakesAnyIntegerAndStopsAtTheLimitOfInt64) {
  EXPECT_EQ(format_count(uint64_t{75'718}), "75,718");
  EXPECT_EQ(format_count(-1), "-1");
  EXPECT_EQ(format_count(~uint64_t{0}), "9,223,372,036,854,775,807");
  EXPECT_EQ(format_plural(size_t{1}, "rank"), "1 rank");
}

TEST(Format, NamesFourRanksAndCountsTheRest) {
  EXPECT_EQ(format_ranks({}), "");
  EXPECT_EQ(format_ranks({3}), "rank 3");
  EXPECT_EQ(format_ranks({0, 2, 5, 7}), "ranks 0, 2, 5, 7");
  EXPECT_EQ(capitalized(format_ranks({0, 2, 5, 7, 9, 11})), "Ranks 0, 2, 5, 7 and 2 more");
  EXPECT_EQ(capitalized(""), "");
}

TEST(Format, ReadsPercent) {
  EXPECT_DOUBLE_EQ(*parse_percent("5%"), 0.05);
  EXPECT_DOUBLE_EQ(*parse_percent("0.5%"), 0.005);
  EXPECT_DOUBLE_EQ(*parse_percent("0%"), 0);
  for (const char* text : {"5", "-5%", "%", "", "five%", "5%%", "nan%"}) {
    EXPECT_FALSE(parse_percent(text)) << text;
  }
}

}  // namespace
}  // namespace redline
