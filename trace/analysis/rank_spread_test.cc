#include "trace/analysis/rank_spread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace redline::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kMillisecond = 1'000'000;

// 16 ranks, two a host, whose own work is 100 ms but for those named in `own_ms`.
class RankSpreads : public ::testing::Test {
 protected:
  RankSpread spread(const std::map<int, int64_t>& own_ms) {
    std::vector<RankTime> times;
    for (int rank = 0; rank < 16; ++rank) {
      const auto other = own_ms.find(rank);
      const int64_t own = (other == own_ms.end() ? 100 : other->second) * kMillisecond;
      times.push_back({.rank = rank, .own_work_ns = own + rank});
      RankSummary& summary = ranks_.emplace_back();
      summary.facts.host = "node" + std::to_string(rank / 2);
      summary.timed_collectives.groups = {{"tensor", rank < 8 ? "[0, 1]" : "[8, 9]"}, {"", ""}};
    }
    return spread_of(times, pointers_to(ranks_));
  }

  std::vector<RankSummary> ranks_;
};

TEST_F(RankSpreads, OfEqualRanksNobodyStandsOut) {
  const RankSpread even = spread({{3, 101}});
  EXPECT_THAT(even.slow_groups, IsEmpty());
  EXPECT_THAT(even.outliers, IsEmpty()) << "1 % is less than 2 %";
}

TEST_F(RankSpreads, ARankIsAnOutlierAndAHostThatIsSlowIsOne) {
  const RankSpread some = spread({{3, 150}, {6, 120}, {7, 121}});
  EXPECT_THAT(some.outliers, ElementsAre(3)) << "its host's other rank is not slow";
  ASSERT_EQ(some.slow_groups.size(), 1U);
  EXPECT_EQ(some.slow_groups[0].name, "node3");
  EXPECT_TRUE(some.slow_groups[0].is_host);
  EXPECT_THAT(some.slow_groups[0].members, ElementsAre(6, 7));
  EXPECT_EQ(some.bins.front(), 13);
  EXPECT_EQ(some.bins.back(), 1);
}

TEST_F(RankSpreads, AProcessGroupMayBeSlowWhereNoHostIs) {
  ranks_.reserve(16);
  std::map<int, int64_t> own_ms;
  for (int rank = 8; rank < 13; ++rank) own_ms[rank] = 130;
  const RankSpread some = spread(own_ms);
  std::vector<std::string> names;
  for (const RankGroup& group : some.slow_groups) names.push_back(group.name);
  EXPECT_THAT(names, ::testing::Contains("tensor"));
  EXPECT_THAT(some.outliers, IsEmpty()) << "the group explains them";
}

}  // namespace
}  // namespace redline::trace
