#include "tuner/search/frontier.h"

#include <gtest/gtest.h>

#include <string>

#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

class FrontierTest : public ::testing::Test {
 protected:
  static Config config(int batch, const std::string& amp = "off", int workers = 2) {
    return {{"batch_size", std::to_string(batch)},
            {"amp", amp},
            {"num_workers", std::to_string(workers)}};
  }

  Space space_ = *make_space({"batch_size=1..4096", "amp=off,bf16", "num_workers=0..8"},
                             {"python", "train.py"}, {});
  History history_{space_};
};

TEST_F(FrontierTest, LiesBetweenTheLargestThatRanAndTheSmallestThatDidNot) {
  add_trial(history_, config(2048), ended_with(Outcome::kGpuOom));
  add_trial(history_, config(64), ran_at(1));
  add_trial(history_, config(512), ended_with(Outcome::kGpuOom));
  add_trial(history_, config(128), ran_at(1));
  add_trial(history_, config(32), ran_at(1));
  add_trial(history_, config(1024), ended_with(Outcome::kHang));
  const Frontier frontier = find_frontier(history_, config(1));
  EXPECT_EQ(frontier.largest_ok, 128);
  EXPECT_EQ(frontier.smallest_failed, 512);
  EXPECT_EQ(frontier.middle(), 256);
}

TEST_F(FrontierTest, IsOneForEachPrecisionWhateverTheWorkers) {
  add_trial(history_, config(64, "off", 8), ran_at(1));
  add_trial(history_, config(256, "bf16", 0), ended_with(Outcome::kGpuOom));
  const Frontier full = find_frontier(history_, config(1, "off", 0));
  EXPECT_EQ(full.largest_ok, 64);
  EXPECT_FALSE(full.smallest_failed);
  EXPECT_FALSE(full.middle());
  const Frontier reduced = find_frontier(history_, config(1, "bf16", 8));
  EXPECT_FALSE(reduced.largest_ok);
  EXPECT_EQ(reduced.smallest_failed, 256);
  EXPECT_FALSE(reduced.middle());
}

TEST_F(FrontierTest, HasNoMiddleWhereASizeRanOnceAndHungOnce) {
  add_trial(history_, config(64), ended_with(Outcome::kHang));
  add_trial(history_, config(64), ran_at(1));
  EXPECT_FALSE(find_frontier(history_, config(1)).middle());
}

TEST_F(FrontierTest, IsNotWhereATrialFailedForOtherReasons) {
  add_trial(history_, config(64), ended_with(Outcome::kCrash));
  const Frontier frontier = find_frontier(history_, config(1));
  EXPECT_FALSE(frontier.largest_ok);
  EXPECT_FALSE(frontier.smallest_failed);
}

}  // namespace
}  // namespace redline::tuner
