#include "compare/turns.h"

#include <gtest/gtest.h>

#include "tests/temporary_folder.h"

namespace redline::compare {
namespace {

TEST(Turns, TwoComparisonsDoNotWriteIntoOneFolder) {
  const testing::TemporaryFolder place;
  const std::string folder = place / "runs";
  const std::atomic<bool> stop = false;
  Plan plan;
  plan.base = plan.next = "true";
  plan.folder = folder;
  std::string error;
  // It asks while the first comparison runs.
  const auto first = compare_in_turns(plan, stop, [&](uint64_t, uint64_t) {
    error = compare_in_turns(plan, stop, [](uint64_t, uint64_t) {}).error();
  });
  EXPECT_EQ(error,
            folder + ": another redline compare writes there. Choose another folder with -o");
  EXPECT_FALSE(first) << "it makes no training step";
  const auto later = compare_in_turns(plan, stop, [](uint64_t, uint64_t) {});
  EXPECT_NE(later.error(), error) << "the first one is over";
}

TEST(TurnOrder, OfEachTwoPairsOneBeginsWithTheBaseAndChanceDecidesWhich) {
  TurnOrder order(1);
  int base_begins = 0;
  constexpr int kTwoPairs = 1000;
  for (int i = 0; i < kTwoPairs; ++i) {
    const bool first = order.begins_with_base();
    EXPECT_NE(order.begins_with_base(), first);
    base_begins += first ? 1 : 0;
  }
  EXPECT_NEAR(base_begins, kTwoPairs / 2, 80) << "five deviations of a coin";
}

}  // namespace
}  // namespace redline::compare
