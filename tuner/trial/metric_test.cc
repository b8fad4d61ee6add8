#include "tuner/trial/metric.h"

#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

TEST(Metric, TheLastMatchCounts) {
  const std::string pattern = R"(([0-9.eE+-]+) img/s)";
  EXPECT_EQ(last_match("1 img/s\n2.5e2 img/s 3 img/s\nend", pattern), 3.0);
  EXPECT_EQ(last_match("nothing", pattern), std::nullopt);
  EXPECT_EQ(last_match("7 img/s\n... img/s\n", pattern), 7.0) << "'...' is no number";
  EXPECT_EQ(last_match("", pattern), std::nullopt);
  EXPECT_EQ(last_match(std::string(1 << 20, '1'), "(x)"), std::nullopt);
}

TEST(Metric, NeedsOneGroup) {
  EXPECT_TRUE(check_metric("loss: (.*)"));
  EXPECT_FALSE(check_metric("loss"));
  EXPECT_FALSE(check_metric("(a)(b)"));
  EXPECT_FALSE(check_metric("(a"));
}

}  // namespace
}  // namespace redline::tuner
