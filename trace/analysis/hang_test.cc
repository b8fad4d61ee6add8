#include "trace/analysis/hang.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>
#include <tuple>

#include "tests/temporary_folder.h"
#include "trace/read/hang_tables.h"
#include "trace/report/hang_words.h"

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
    const bool is_old = kind == HangKind::kStopped || kind == HangKind::kDied;
    EXPECT_EQ(hang_lines(*hang, 0).at(1), std::string(is_old ? "last seen at " : "at ") +
                                              "train.py:31 sync < train.py:60 <module>");
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

TEST(Hang, ASlowRankIsNamedAsSuch) {
  std::vector<HangTable> ranks = {table(0, 2, 121, true), table(1, 2, 120, false)};
  ranks[1].phase = "checkpoint";
  const auto slow = find_wait(ranks);
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->kind, HangKind::kSlow);
  EXPECT_STREQ(hang_title(*slow), "the job is slow");
  EXPECT_THAT(
      hang_lines(*slow, 100 * kSecondNs),
      ElementsAre("rank 1 saves a checkpoint (node1)", "at train.py:31 sync < train.py:60 <module>",
                  "rank 0 waits in all_reduce 121 of group 0, step 60, for 7.0 s"));
}

TEST(Hang, ARankThatRanOutOfMemoryIsNamedWhateverItDoesNow) {
  std::vector<HangTable> ranks = {table(0, 2, 121, true), table(1, 2, 121, true)};
  ranks[1].collectives.back().operation = "barrier";
  ranks[1].memory_error = "CUDA out of memory";
  auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kOutOfMemory);
  EXPECT_THAT(hang->ranks, ElementsAre(1)) << "though of two nobody could say who is wrong";
  EXPECT_EQ(hang_lines(*hang, 0).front(), "rank 1 ran out of memory: CUDA out of memory (node1)");
  ranks[1] = table(1, 2, 120, false);
  ranks[1].memory_error = "killed by the kernel: out of host memory";
  for (const ThreadState state : {ThreadState::kGone, ThreadState::kSleeps}) {
    ranks[1].state = state;
    EXPECT_EQ(find_hang(ranks)->kind, HangKind::kOutOfMemory);
  }
}

TEST(Hang, OfAJobThatFailedTheFirstIsNamed) {
  std::vector<HangTable> ranks = {table(0, 3, 121, true), table(1, 3, 120, false),
                                  table(2, 3, 121, true)};
  for (HangTable& rank : ranks) {
    rank.state = ThreadState::kGone;
    rank.error = "RuntimeError: Connection closed by peer";
  }
  ranks[1].error = "ValueError: no such file";
  auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_STREQ(hang_title(*hang), "the job failed");
  EXPECT_THAT(hang_lines(*hang, 100 * kSecondNs),
              ElementsAre("rank 1 has ended: ValueError: no such file (node1)",
                          "at train.py:31 sync < train.py:60 <module>",
                          "ranks 0, 2 waited in all_reduce 121 of group 0, step 60"));
  // A launcher that ends the others leaves them no time for last words.
  ranks[0] = ranks[2] = table(0, 3, 120, false);
  ranks[2].rank = 2;
  ranks[0].state = ranks[2].state = ThreadState::kGone;
  hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_THAT(hang->ranks, ElementsAre(1));
  ranks[1].error.clear();
  EXPECT_FALSE(find_hang(ranks)) << "all were ended from outside";
}

TEST(Hang, OtherSizesAreNamedAlsoOnceTheyHaveEndedTheJob) {
  std::vector<HangTable> ranks;
  for (int rank = 0; rank < 4; ++rank) ranks.push_back(table(rank, 4, 121, true));
  ranks[1].collectives.back().sizes = "[[16]]";
  ranks[0].collectives.clear();  // it was aborted
  for (HangTable& rank : ranks) rank.state = ThreadState::kGone;
  const auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kMismatch);
  EXPECT_TRUE(hang->has_failed);
  EXPECT_THAT(hang->ranks, ElementsAre(1));
}

TEST(Hang, WhoWasLateUntilTheOthersGaveUpIsNamedThoughALauncherEndedIt) {
  std::vector<HangTable> ranks = {table(0, 3, 121, true), table(1, 3, 120, false),
                                  table(2, 3, 121, true)};
  for (HangTable& rank : ranks) rank.state = ThreadState::kGone;
  ranks[0].error = ranks[2].error = "RuntimeError: Connection closed by peer";
  EXPECT_FALSE(find_hang(ranks)) << "it may have been killed";
  ranks[2].error = "RuntimeError: Timed out waiting 2000ms for recv operation to complete";
  const auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kNotEntered);
  EXPECT_TRUE(hang->has_failed);
  EXPECT_THAT(hang->ranks, ElementsAre(1));
  ranks[1].written_ns = 92 * kSecondNs;
  EXPECT_FALSE(find_hang(ranks)) << "it was gone before they waited";
}

TEST(Hang, WhoAbortsByItselfIsNamedAndWhoAbortsInAMatchingCollectiveIsNot) {
  std::vector<HangTable> ranks = {table(0, 2, 121, true), table(1, 2, 120, false)};
  for (HangTable& rank : ranks) rank.state = ThreadState::kGone;
  ranks[0].error = "RuntimeError: Connection closed by peer";
  ranks[1].error = "aborted (SIGABRT)";
  const auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kDied);
  EXPECT_THAT(hang->ranks, ElementsAre(1));
  ranks[1] = table(1, 2, 121, true);
  ranks[1].state = ThreadState::kGone;
  ranks[1].error = "aborted (SIGABRT)";
  EXPECT_FALSE(find_hang(ranks)) << "what broke the connection is not known";
}

// Gloo lets ranks leave an all_reduce that another one entered with more elements.
TEST(Hang, WhoStaysInACollectiveWithOtherSizesIsNamedThoughTheOthersAreOut) {
  std::vector<HangTable> ranks;
  for (int rank = 0; rank < 4; ++rank) ranks.push_back(table(rank, 4, rank == 2 ? 121 : 122, true));
  ranks[2].collectives.back().sizes = "[[16]]";
  const auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kMismatch);
  EXPECT_EQ(hang->sequence, 121);
  EXPECT_THAT(hang->ranks, ElementsAre(2));
  EXPECT_THAT(hang->waiting_ranks, ElementsAre(0, 1, 3));
}

TEST(Hang, AnOldTableOfARankInWhatIsOverIsNoHang) {
  std::vector<HangTable> ranks = {table(0, 3, 118, true), table(1, 3, 121, true),
                                  table(2, 3, 120, false)};
  ranks[0].step = 59;
  const auto hang = find_hang(ranks);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->sequence, 121) << "118 is done on the others";
  EXPECT_THAT(hang->waiting_ranks, ElementsAre(1));
  // The table of a rank that is stopped stays as old as it is.
  ranks = {table(0, 2, 118, true), table(1, 2, 500, true)};
  ranks[0].state = ThreadState::kStopped;
  auto& listed = ranks[1].collectives;
  listed.erase(listed.begin(), listed.end() - 64);
  for (const int64_t last : {500, 121}) {
    if (last == 121) ranks[1] = table(1, 2, last, true);
    const auto stopped = find_hang(ranks);
    ASSERT_TRUE(stopped);
    EXPECT_EQ(stopped->kind, HangKind::kStopped);
    EXPECT_EQ(stopped->sequence, last);
    EXPECT_THAT(stopped->ranks, ElementsAre(0));
  }
}

TEST(Hang, KindsHaveNames) {
  for (int kind = 0; kind <= static_cast<int>(HangKind::kOutOfMemory); ++kind) {
    const auto each = static_cast<HangKind>(kind);
    EXPECT_EQ(hang_kind_of(hang_kind_name(each)), each);
  }
  EXPECT_STREQ(hang_kind_name(HangKind::kOutOfMemory), "out_of_memory");
  EXPECT_EQ(hang_kind_of("?"), HangKind::kNotEntered);
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
  // Unless a third one, which is only late, may tell.
  ranks[2].collectives.clear();
  EXPECT_FALSE(find_hang(ranks));
  ranks[2].is_overdue = true;
  EXPECT_THAT(find_hang(ranks)->ranks, ElementsAre(0, 1));
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
  const testing::TemporaryFolder folder;
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
  put("rank7.hang.redline", R"({"schema": "redline.hang/2", "run": "2.1", "rank": 7})");
  ASSERT_EQ(mkfifo((folder / "rank6.hang.redline").c_str(), 0600), 0);
  put("rank5.hang.redline", head + R"("2.1", "rank": 5, "written_ns": 3, "sealed_ns": 2})");
  const auto tables = read_hang_tables(folder.path());
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

TEST(HangTables, OfOneRunOrOfItsJobAreKept) {
  const auto ranks_of = [](const std::string& run) {
    const std::tuple<int, const char*, const char*> kTables[] = {
        {0, "1.1", "slurm 7"}, {1, "2.1", "slurm 7"}, {2, "1.9", "slurm 8"},
        {3, "1.9", ""},        {4, "2.1", ""},
    };
    std::vector<HangTable> tables;
    for (const auto& [rank, of_run, job] : kTables) {
      tables.emplace_back();
      tables.back().rank = rank;
      tables.back().run = of_run;
      tables.back().job = job;
    }
    keep_one_job(tables, run);
    std::vector<int> ranks;
    for (const HangTable& table : tables) ranks.push_back(table.rank);
    return ranks;
  };
  EXPECT_THAT(ranks_of(""), ElementsAre(0, 1, 4)) << "the latest run, and its job on other nodes";
  EXPECT_THAT(ranks_of("1.1"), ElementsAre(0, 1));
  EXPECT_THAT(ranks_of("1.9"), ElementsAre(2, 3));
  EXPECT_THAT(ranks_of("3.1"), IsEmpty());
}

TEST(HangTables, OfAProgramTheLatestHasTheStackThatALauncherAdded) {
  const auto tables_of = [](int64_t thread, int64_t earlier_process) {
    HangTable latest, earlier;
    latest.process = 7;
    latest.thread = thread;
    latest.written_ns = 2;
    earlier.process = earlier_process;
    earlier.stack = {"train.cc:31 sync"};
    std::vector<HangTable> tables{earlier, latest};
    keep_one_job(tables, "");
    return tables;
  };
  EXPECT_THAT(tables_of(7, 7).at(0).stack, ElementsAre("train.cc:31 sync"));
  EXPECT_EQ(tables_of(7, 7).at(0).written_ns, 2);
  EXPECT_EQ(tables_of(7, 7).size(), 1U);
  EXPECT_THAT(tables_of(7, 6).at(0).stack, IsEmpty());  // of a process before it
  EXPECT_THAT(tables_of(0, 7).at(0).stack, IsEmpty());
}

}  // namespace
}  // namespace redline::trace
