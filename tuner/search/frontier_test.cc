#include "tuner/search/frontier.h"

#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

class FrontierOf : public ::testing::Test {
 protected:
  void add(const Config& config, Outcome outcome, std::optional<uint64_t> peak = {}) {
    TrialResult result;
    result.outcome = outcome;
    result.peak_memory_bytes = peak;
    if (outcome == Outcome::kOk) result.throughput = Throughput{100, 99, 101};
    history_.add({.id = 1, .config = config, .why = "", .result = result});
  }
  std::optional<int64_t> next(const Config& config, std::optional<uint64_t> limit = {}) {
    return find_frontier(history_, config).next(*space_.find("batch_size"), limit);
  }
  static Config batch(int size, const std::string& amp = "off", int workers = 0) {
    return {{"batch_size", std::to_string(size)},
            {"amp", amp},
            {"num_workers", std::to_string(workers)}};
  }

  Space space_ = *make_space({"batch_size=1..4096", "amp=off,bf16", "num_workers=0..8"}, {"train"},
                             {.gpu = true, .cores = 8});
  History history_{space_};
};

TEST_F(FrontierOf, WithoutReadingsJumpsSixteenfoldThenBisects) {
  add(batch(32), Outcome::kOk);
  EXPECT_EQ(next(batch(32)), 512);
  add(batch(512), Outcome::kGpuOom);
  EXPECT_EQ(next(batch(32)), 128);
  add(batch(128), Outcome::kOk);
  EXPECT_EQ(next(batch(32)), 256);
  add(batch(160), Outcome::kThrash);
  EXPECT_EQ(next(batch(32)), std::nullopt) << "128 to 160 is near enough";
}

TEST_F(FrontierOf, ABatchThatTookTooLongBoundsItToo) {
  add(batch(32), Outcome::kOk);
  add(batch(512), Outcome::kHang);
  EXPECT_EQ(next(batch(32)), 128);
}

TEST_F(FrontierOf, NeverAboveWhatATrialHasTimeFor) {
  add(batch(32), Outcome::kOk);
  const Frontier frontier = find_frontier(history_, batch(32));
  EXPECT_EQ(frontier.next(*space_.find("batch_size"), {}, 150), 144);
  EXPECT_EQ(frontier.next(*space_.find("batch_size"), {}, 33), std::nullopt);
}

TEST_F(FrontierOf, FollowsTheMemoryLineTo95Percent) {
  add(batch(32), Outcome::kOk, 2 * kGiB);
  add(batch(96), Outcome::kOk, 4 * kGiB);  // m = 1 GiB + b / 32 GiB
  EXPECT_EQ(next(batch(32), 20 * kGiB), 576);
  add(batch(576), Outcome::kOk, 19 * kGiB);
  EXPECT_EQ(next(batch(32), 20 * kGiB), std::nullopt);
}

TEST_F(FrontierOf, WhereLibrariesFillMostOfTheLimitTheRoomCounts) {
  add(batch(32), Outcome::kOk, 37 * kGiB / 4);
  add(batch(64), Outcome::kOk, 38 * kGiB / 4);  // m = 9 GiB + b / 128 GiB
  EXPECT_EQ(next(batch(64), 10 * kGiB), 88) << "97 % of the limit; 95 % of it are reached by 64";
}

TEST_F(FrontierOf, WorkersShareAStratumPrecisionDoesNot) {
  add(batch(32), Outcome::kOk);
  add(batch(512, "off", 4), Outcome::kHostOom);
  EXPECT_EQ(next(batch(32, "off", 2)), 128);
  add(batch(160, "bf16"), Outcome::kOk);
  add(batch(448, "bf16"), Outcome::kOk);
  EXPECT_EQ(next(batch(32, "bf16")), 896) << "beyond what failed elsewhere, with care";
}

TEST_F(FrontierOf, WhatFailedElsewhereIsComeNearToFirst) {
  add(batch(512), Outcome::kGpuOom);
  add(batch(32, "bf16"), Outcome::kOk);
  EXPECT_EQ(next(batch(32, "bf16")), 128);
}

TEST_F(FrontierOf, AFailureWhereTheLineSawRoomLowersTheLimitEverywhere) {
  add(batch(32), Outcome::kOk, 2 * kGiB);
  add(batch(96), Outcome::kOk, 4 * kGiB);
  add(batch(256), Outcome::kGpuOom);  // 9 GiB by the line
  add(batch(32, "bf16"), Outcome::kOk, 3 * kGiB / 2);
  add(batch(64, "bf16"), Outcome::kOk, 2 * kGiB);  // m = 1 GiB + b / 64 GiB
  EXPECT_EQ(next(batch(64, "bf16"), 20 * kGiB), 480) << "95 % of the room below 9 GiB";
}

TEST_F(FrontierOf, BorrowsTheWeightsOfAnotherStratum) {
  add(batch(32), Outcome::kOk, 2 * kGiB);
  add(batch(96), Outcome::kOk, 4 * kGiB);
  add(batch(96, "bf16"), Outcome::kOk, 5 * kGiB / 2);  // half the activations
  EXPECT_EQ(next(batch(96, "bf16"), 20 * kGiB), 1152);
}

TEST(MemoryLine, NeedsGrowthThatTells) {
  EXPECT_FALSE(fit_memory_line({{32, kGiB}}));
  EXPECT_FALSE(fit_memory_line({{32, kGiB}, {32, 2 * kGiB}}));
  EXPECT_FALSE(fit_memory_line({{32, kGiB}, {64, kGiB + kGiB / 100}}));
  const auto line = fit_memory_line({{64, 3 * kGiB}, {32, 2 * kGiB}});
  ASSERT_TRUE(line);
  EXPECT_DOUBLE_EQ(line->fixed_bytes, static_cast<double>(kGiB));
  EXPECT_DOUBLE_EQ(line->batch_within(9 * kGiB, 1), 256);
}

}  // namespace
}  // namespace redline::tuner
