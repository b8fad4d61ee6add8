#include "trace/analysis/hang.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "trace/read/hang_tables.h"

namespace redline::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecondNs = 1'000'000'000;

// A table of one of `world_size` ranks that has entered the collectives 118 to `last` of the
// default group, all but the last one done.
HangTable table(int rank, int world_size, int64_t last, bool waits) {
  HangTable table;
  table.run = "1.1";
  table.rank = rank;
  table.world_size = world_size;
  table.host = "node" + std::to_string(rank);
  table.written_ns = 100 * kSecondNs;
  table.step = 60;
  table.state = ThreadState::kLock;
  CollectiveGroup group{"0", {}, 0};
  for (int member = 0; member < world_size; ++member) group.ranks.push_back(member);
  table.groups.push_back(group);
  for (int64_t number = 118; number <= last; ++number) {
    table.collectives.push_back(
        {"0", number, "all_reduce", "[[8]]", "Float", !(waits && number == last), 93 * kSecondNs});
  }
  if (!waits) table.stack = {"train.py:31 sync", "train.py:60 <module>"};
  return table;
}

TEST(Hang, WhoDidNotEnterIsTheCulpritAndItsThreadTellsWhy) {
  const std::pair<ThreadState, HangKind> cases[] = {
      {ThreadState::kUnknown, HangKind::kNotEntered},
      {ThreadState::kRuns, HangKind::kComputes},
      {ThreadState::kSleeps, HangKind::kSleeps},
      {ThreadState::kLock, HangKind::kLock},
      {ThreadState::kInputOutput, HangKind::kInputOutput},
      {ThreadState::kStopped, HangKind::kStopped},
      {ThreadState::kGone, HangKind::kDied}};
  for (const auto& [state, kind] : cases) {
    std::vector<HangTable> ranks = {table(0, 3, 121, true), table(1, 3, 120, false),
                                    table(2, 3, 121, true)};
    ranks[1].state = state;
    const auto hang = find_hang(ranks);
    ASSERT_TRUE(hang) << hang_kind_name(kind);
    EXPECT_EQ(hang->kind, kind) << hang_kind_name(hang->kind);
    EXPECT_THAT(hang->ranks, ElementsAre(1));
    EXPECT_EQ(hang->group, "0");
    EXPECT_EQ(hang->sequence, 121);
    EXPECT_EQ(hang->operation, "all_reduce");
    EXPECT_EQ(hang->step, 60);
    EXPECT_THAT(hang->waiting_ranks, ElementsAre(0, 2));
    EXPECT_THAT(hang->stack, ElementsAre("train.py:31 sync", "train.py:60 <module>"));
  }
}

TEST(Hang, ARankThatWaitsForDataIsNamedSo) {
  std::vector<HangTable> ranks = {table(0, 2, 121, true), table(1, 2, 120, false)};
  ranks[1].inner = "dataloader.py:1295 _try_get_data";
  EXPECT_EQ(find_hang(ranks)->kind, HangKind::kData);
}

TEST(Hang, ARankWithoutATableDidNotEnter) {
  const std::vector<HangTable> ranks = {table(0, 3, 121, true), table(2, 3, 121, true)};
  const auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kNotEntered);
  EXPECT_THAT(hang->ranks, ElementsAre(1));
  EXPECT_THAT(hang->stack, IsEmpty());
}

TEST(Hang, ASlowRankIsNoHang) {
  std::vector<HangTable> ranks = {table(0, 2, 121, true), table(1, 2, 120, false)};
  ranks[1].is_moving = true;
  EXPECT_FALSE(find_hang(ranks));
  ranks[1].is_moving = false;
  ranks[1].phase = "checkpoint";
  EXPECT_FALSE(find_hang(ranks));
  ranks[1].state = ThreadState::kStopped;
  EXPECT_EQ(find_hang(ranks)->kind, HangKind::kStopped) << "and if it was saving just then";
}

TEST(Hang, AnotherOperationOrSizeUnderOneNumberIsAMismatchOfTheFewer) {
  std::vector<HangTable> ranks = {table(0, 3, 121, true), table(1, 3, 121, true),
                                  table(2, 3, 121, true)};
  EXPECT_FALSE(find_hang(ranks)) << "all are in the same one: it cannot be known";
  ranks[1].collectives.back().sizes = "[[16]]";
  auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kMismatch);
  EXPECT_THAT(hang->ranks, ElementsAre(1));
  EXPECT_THAT(hang->waiting_ranks, ElementsAre(0, 2));
  EXPECT_EQ(hang->entered, "all_reduce [[16]] Float");
  EXPECT_EQ(hang->expected, "all_reduce [[8]] Float");
  ranks[1].collectives.back() = {"0", 121, "broadcast", "[[8]]", "Float", false, 1};
  EXPECT_EQ(find_hang(ranks)->entered, "broadcast [[8]] Float");
  // Of two ranks nobody can say which is wrong.
  const std::vector<HangTable> two = {ranks[0], ranks[1]};
  EXPECT_THAT(find_hang(two)->ranks, ElementsAre(0, 1));
}

TEST(Hang, OperationsWhoseSizesMayDifferAreNoMismatch) {
  std::vector<HangTable> ranks = {table(0, 2, 121, true), table(1, 2, 121, true)};
  for (HangTable& rank : ranks) rank.collectives.back().operation = "all_to_all";
  ranks[1].collectives.back().sizes = "[[16]]";
  EXPECT_FALSE(find_hang(ranks));
}

TEST(Hang, TheSameNumberInALaterStepIsASkippedCollective) {
  std::vector<HangTable> ranks = {table(0, 2, 121, true), table(1, 2, 121, true)};
  ranks[1].step = 61;
  const auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kSkipped);
  EXPECT_THAT(hang->ranks, ElementsAre(1));
  EXPECT_THAT(hang->waiting_ranks, ElementsAre(0));
  EXPECT_EQ(hang->step, 60);
}

TEST(Hang, AVictimInAnotherGroupIsNotTheCulprit) {
  // Rank 0 waits for rank 1 in group "0"; rank 1 waits for rank 2 in "1"; rank 2 sleeps.
  std::vector<HangTable> ranks = {table(0, 3, 121, true), table(1, 3, 120, false),
                                  table(2, 3, 121, true)};
  for (HangTable& rank : ranks) rank.groups.push_back({"1", {1, 2}, 0});
  ranks[1].collectives.push_back({"1", 4, "broadcast", "[[2]]", "Float", false, 94 * kSecondNs});
  ranks[2].collectives.back().is_done = true;
  ranks[2].collectives.pop_back();
  ranks[2].state = ThreadState::kSleeps;
  const auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kSleeps);
  EXPECT_THAT(hang->ranks, ElementsAre(2));
}

TEST(Hang, ARankThatWasStoppedInACollectiveIsNamedByItsLastTable) {
  std::vector<HangTable> ranks = {table(0, 3, 121, true), table(1, 3, 120, false),
                                  table(2, 3, 121, true)};
  ranks[1].state = ThreadState::kStopped;
  ranks[1].collectives.clear();
  for (const int64_t entered : {120, 121}) {
    ranks[1].groups[0].entered = entered;
    const auto hang = find_hang(ranks);
    ASSERT_TRUE(hang);
    EXPECT_EQ(hang->kind, HangKind::kStopped);
    EXPECT_THAT(hang->ranks, ElementsAre(1));
    EXPECT_THAT(hang->waiting_ranks, ElementsAre(0, 2));
  }
  ranks[1].state = ThreadState::kUnknown;
  EXPECT_FALSE(find_hang(ranks)) << "it has entered 121: nobody is known to be missing";
}

TEST(Hang, ARankThatIsGoneIsNamedWhereTheOthersWaitInNoCollective) {
  std::vector<HangTable> ranks = {table(0, 3, 120, false), table(1, 3, 120, false),
                                  table(2, 3, 120, false)};
  for (HangTable& rank : ranks) rank.step_began_ns = 90 * kSecondNs;
  ranks[1].state = ThreadState::kGone;
  const auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kDied);
  EXPECT_THAT(hang->ranks, ElementsAre(1));
  EXPECT_THAT(hang->waiting_ranks, ElementsAre(0, 2));
  ranks[2].is_moving = true;
  EXPECT_FALSE(find_hang(ranks));
}

TEST(Hang, GroupsInDifferentOrders) {
  std::vector<HangTable> ranks = {table(0, 2, 120, false), table(1, 2, 120, false)};
  for (HangTable& rank : ranks) rank.groups.push_back({"1", {0, 1}, 0});
  ranks[0].collectives.push_back({"0", 121, "all_reduce", "[[8]]", "Float", false, kSecondNs});
  ranks[1].collectives.push_back({"1", 1, "all_reduce", "[[8]]", "Float", false, 2 * kSecondNs});
  const auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kOrder);
  EXPECT_THAT(hang->ranks, ElementsAre(0, 1)) << "of two nobody can say which is wrong";
  ranks.push_back(ranks[0]);
  ranks[2].rank = 2;
  for (HangTable& rank : ranks) rank.groups[0].ranks = rank.groups[1].ranks = {0, 1, 2};
  const auto of_three = find_hang(ranks);
  ASSERT_TRUE(of_three);
  EXPECT_EQ(of_three->kind, HangKind::kOrder);
  EXPECT_THAT(of_three->ranks, ElementsAre(1));
  EXPECT_THAT(of_three->waiting_ranks, ElementsAre(0, 2));
}

TEST(Hang, AJobOfOneProcessHangsToo) {
  std::vector<HangTable> ranks = {table(0, 1, 0, false)};
  ranks[0].inner = "dataloader.py:1295 _try_get_data";
  auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kData);
  EXPECT_EQ(hang->group, "");
  EXPECT_FALSE(hang->sequence);
  ranks[0].inner = "";
  ranks[0].state = ThreadState::kRuns;
  EXPECT_FALSE(find_hang(ranks)) << "it may go on";
}

TEST(Hang, RanksThatAllSleepMayGoOn) {
  std::vector<HangTable> ranks = {table(0, 2, 120, false), table(1, 2, 120, false)};
  for (HangTable& rank : ranks) rank.state = ThreadState::kSleeps;
  EXPECT_FALSE(find_hang(ranks));
  for (HangTable& rank : ranks) rank.state = ThreadState::kInputOutput;
  EXPECT_TRUE(find_hang(ranks));
}

TEST(Hang, OneOfAThousandRanksIsFound) {
  constexpr int kRanks = 1024;
  std::vector<HangTable> ranks;
  for (int rank = 0; rank < kRanks; ++rank) ranks.push_back(table(rank, kRanks, 121, true));
  ranks[700] = table(700, kRanks, 120, false);
  const auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_THAT(hang->ranks, ElementsAre(700));
  EXPECT_EQ(hang->waiting_ranks.size(), kRanks - 1);
  EXPECT_THAT(hang_lines(*hang, 100 * kSecondNs).back(),
              ::testing::HasSubstr("and 1015 more wait"));
}

TEST(Hang, NothingHangsWithoutTables) { EXPECT_FALSE(find_hang({})); }

TEST(Hang, ThePromisedLines) {
  std::vector<HangTable> ranks = {table(0, 3, 121, true), table(1, 3, 120, false),
                                  table(2, 3, 121, true)};
  ranks[1].state = ThreadState::kSleeps;
  EXPECT_THAT(hang_lines(*find_hang(ranks), 100 * kSecondNs),
              ElementsAre("rank 1 sleeps (node1)", "at train.py:31 sync < train.py:60 <module>",
                          "ranks 0, 2 wait in all_reduce 121 of group 0, step 60, for 7.0 s"));
}

TEST(HangTables, AreReadOfTheLatestRunWhateverElseLiesThere) {
  const std::filesystem::path folder =
      ::testing::TempDir() + "hang_tables_test." + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  const auto put = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name) << text;
  };
  const std::string head = R"({"schema": "redline.hang/1", "run": )";
  put("rank1.hang.redline",
      head +
          R"("2.1", "rank": 1, "state": "io", "step": 5, "stack": ["a", 1], )"
          R"("groups": [{"name": "0", "ranks": [0, 1], "entered": 7}, 3], "moving": true, )"
          R"("collectives": [{"group": "0", "sequence": 7, "operation": "barrier", "sizes": "[]", )"
          R"("types": "", "done": true, "entered_ns": 12}, null]})"
          "\nof a longer one}");
  put("rank1.seen.hang.redline", head + R"("2.1", "rank": 1, "state": "runs", "written_ns": -1})");
  put("rank0.hang.redline", head + R"("2.1", "rank": 0, "step": "?", "stack": 3})");
  put("rank2.hang.redline", head + R"("1.1", "rank": 2})");
  put("rank3.hang.redline", R"({"schema": "redline.hang/1", "run": "2.1", )");
  put("rank4.hang.redline", R"([1])");
  put("rank5.hang.redline", head + R"("2.1", "rank": 5, "written_ns": 3, "sealed_ns": 2})");
  const auto tables = read_hang_tables(folder);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].rank, 0);
  EXPECT_FALSE(tables[0].step);
  EXPECT_EQ(tables[1].state, ThreadState::kInputOutput);
  EXPECT_EQ(tables[1].step, 5);
  EXPECT_TRUE(tables[1].is_moving);
  EXPECT_THAT(tables[1].stack, ElementsAre("a"));
  ASSERT_EQ(tables[1].collectives.size(), 1U);
  EXPECT_EQ(tables[1].collectives[0].operation, "barrier");
  EXPECT_TRUE(tables[1].collectives[0].is_done);
  EXPECT_THAT(read_hang_tables("/nonexistent"), IsEmpty());
}

}  // namespace
}  // namespace redline::trace
