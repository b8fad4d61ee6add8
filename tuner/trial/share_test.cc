#include "tuner/trial/share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Devices kCpuDevices{.gpus = {}, .cores = {0, 1, 2, 3, 8, 9, 10}};

TEST(Shares, OneIsTheWholeMachine) {
  const auto shares = split(kCpuDevices, 1);
  ASSERT_TRUE(shares);
  ASSERT_EQ(shares->size(), 1);
  EXPECT_TRUE(shares->front().whole());
}

TEST(Shares, CoresAreSplitEvenlyAndTheRestIsIdle) {
  const auto shares = split(kCpuDevices, 2);
  ASSERT_TRUE(shares);
  ASSERT_EQ(shares->size(), 2);
  EXPECT_THAT((*shares)[0].cores, ElementsAre(0, 1, 2));
  EXPECT_THAT((*shares)[1].cores, ElementsAre(3, 8, 9));
  EXPECT_THAT((*shares)[1].gpus, IsEmpty());
  EXPECT_EQ((*shares)[1].text(), "cores 3,8-9");
  EXPECT_EQ(machine_of((*shares)[0], {.cores = 7}).cores, 3);
}

TEST(Shares, GpusDecideWhereThereAreAny) {
  const Devices machine{.gpus = {"GPU-a", "GPU-b", "5"}, .cores = {0, 1, 2, 3}};
  const auto shares = split(machine, 3);
  ASSERT_TRUE(shares);
  EXPECT_THAT((*shares)[1].gpus, ElementsAre("GPU-b"));
  EXPECT_THAT((*shares)[2].cores, ElementsAre(2));
  EXPECT_EQ((*shares)[2].text(), "GPU 5, core 2");
  EXPECT_EQ(machine_of((*shares)[2], {.gpu = true, .gpus = 3, .cores = 4}).gpus, 1);
  EXPECT_THAT(split(machine, 4).error(), HasSubstr("3 are visible. Give at most --parallel 3"));
}

TEST(Shares, FewerCoresThanGpusAreSharedByAll) {
  const auto shares = split({.gpus = {"0", "1", "2"}, .cores = {0, 1}}, 3);
  ASSERT_TRUE(shares);
  EXPECT_THAT((*shares)[0].cores, IsEmpty());
}

TEST(Shares, MoreThanCoresIsRefused) {
  EXPECT_THAT(split(kCpuDevices, 8).error(), HasSubstr("--parallel 8: each trial needs a core"));
}

}  // namespace
}  // namespace redline::tuner
