#include "tuner/trial/machine_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace redline::tuner {
namespace {

using ::testing::HasSubstr;

TEST(MachineWatch, ReadsTheKernelsLine) {
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const char* const stat =
      "cpu  1 1 1 1 1 1 1 1 0 0\ncpu1 5 20 30 400 50 6 7 80 0 0\ncpu10 9 9 9 9 9 9 9 9\n"
      "cpu2 5 0 0 0 0 0 0 0 0 0\nintr 1 2 3\n";
  const auto time = parse_processor_time(stat, {1, 2});
  ASSERT_TRUE(time);
  EXPECT_DOUBLE_EQ(time->busy, 73 * tick);
  EXPECT_DOUBLE_EQ(time->stolen, 80 * tick);
  EXPECT_DOUBLE_EQ(time->all, 603 * tick);
  EXPECT_FALSE(parse_processor_time("", {0}));
  EXPECT_FALSE(parse_processor_time(stat, {3}));
}

TEST(MachineWatch, AProcessTookItsOwnTimeAndThatOfItsChildren) {
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(
      parse_process_seconds("7 (a) b) S 4 5 6 7 8 9 10 11 12 13 1000 200 30 4 18 19\n"),
      1234 * tick);
  EXPECT_EQ(parse_process_seconds(""), 0);
}

TEST(MachineWatch, SaysWhoDisturbed) {
  const ProcessorTime before{.busy = 100, .stolen = 5, .all = 1000};
  const auto said = [&](double busy, double stolen, double own) {
    const ProcessorTime after{.busy = 100 + busy, .stolen = 5 + stolen, .all = 1020};
    return disturbance_between(before, after, own, 2);
  };
  EXPECT_EQ(said(20, 0, 19), "") << "the trial itself";
  EXPECT_EQ(said(10, 0, 3), "") << "a processor was free";
  EXPECT_EQ(said(20, 0, 7), "other programs used 1.3 of 2 processors");
  EXPECT_EQ(said(1, 18, 1), "the host gave 90 % of the processor time to other machines (steal)");
  EXPECT_EQ(disturbance_between(before, before, 0, 2), "");
}

TEST(MachineWatch, ALittleIsNoDisturbance) {
  const auto said = [&](double all, double busy, double stolen, double own) {
    return disturbance_between({}, {.busy = busy, .stolen = stolen, .all = all}, own, 2);
  };
  EXPECT_EQ(said(100, 97, 3, 97), "");
  EXPECT_NE(said(100, 96, 4, 96), "") << "more than 3 % stolen";
  EXPECT_EQ(said(100, 91, 0, 76.5), "") << "less than 15 % by others";
  EXPECT_EQ(said(100, 91, 0, 75.5), "other programs used 0.3 of 2 processors");
  EXPECT_EQ(said(100, 90, 0, 70), "") << "10 % was idle";
  EXPECT_EQ(said(100, 89, 2, 70), "other programs used 0.4 of 2 processors");
  EXPECT_EQ(said(0.19, 0.19, 0, 0), "") << "too short to say";
  EXPECT_NE(said(0.2, 0.2, 0, 0), "");
}

TEST(MachineWatch, ItsOwnProcessesAreNoNeighbours) {
  MachineWatch watch({0});
  EXPECT_EQ(watch.disturbance({}), "");
  watch.begin({getpid()});
  EXPECT_TRUE(watch.begun());
  EXPECT_THAT(watch.disturbance({getpid()}), ::testing::Not(HasSubstr("-")));
}

}  // namespace
}  // namespace redline::tuner
