#include "trace/read/hang_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace redline::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr int64_t kSecondNs = 1'000'000'000;

HangTable table_of(const char* run, int rank, int64_t second, const char* job = "slurm 7.") {
  HangTable table;
  table.run = run;
  table.job = job;
  table.rank = rank;
  table.world_size = 2;
  table.written_ns = second * kSecondNs;
  return table;
}

/// The runs and ranks that are kept for run 1.1.
std::vector<std::pair<std::string, int>> kept_tables(std::vector<HangTable> tables) {
  keep_one_job(tables, "1.1");
  std::vector<std::pair<std::string, int>> names;
  for (const HangTable& table : tables) names.emplace_back(table.run, table.rank);
  return names;
}

TEST(HangTables, OfAJobBesideItInOneAllocationAreLeftOut) {
  const auto kept_beside = [](int64_t second) {
    return kept_tables(
        {table_of("1.1", 0, 100), table_of("2.1", 0, second), table_of("2.1", 1, 90)});
  };
  EXPECT_THAT(kept_beside(96), ElementsAre(Pair("1.1", 0)));
  EXPECT_THAT(kept_beside(104), ElementsAre(Pair("1.1", 0)));
  // A rank that another node has since a restart, or had before it.
  EXPECT_THAT(kept_beside(105), ElementsAre(Pair("2.1", 0), Pair("2.1", 1)));
  EXPECT_THAT(kept_beside(95), ElementsAre(Pair("1.1", 0), Pair("2.1", 1)));
}

TEST(HangTables, TheLatestTellsTheNameOfTheJob) {
  EXPECT_THAT(kept_tables({table_of("1.1", 1, 200, "node0:2"), table_of("1.2", 0, 200, "node0:2"),
                           table_of("1.1", 0, 100, "node0:1")}),
              ElementsAre(Pair("1.2", 0), Pair("1.1", 1)));
}

TEST(HangTables, OfARankThatTheJobWentOnWithoutAreLeftOut) {
  const auto kept_ranks = [](int64_t second, int world_size) {
    std::vector<HangTable> tables = {table_of("1.1", 0, 99), table_of("1.1", 1, second),
                                     table_of("1.1", 2, 100)};
    tables[2].world_size = world_size;
    return kept_tables(std::move(tables)).size();
  };
  EXPECT_EQ(kept_ranks(106, 3), 2U);
  EXPECT_EQ(kept_ranks(105, 3), 3U) << "it may live";
  EXPECT_EQ(kept_ranks(106, 2), 3U) << "its launcher does not say how many there are";
}

TEST(HangTables, NestedDeepAreNotRead) {
  const auto is_read = [](const std::string& sizes) {
    return parse_hang_table(R"({"schema": "redline.hang/1", "entries": [{"process_group": ["0"], )"
                            R"("profiling_name": "f", "input_sizes": )" +
                            sizes + "}]}")
        .has_value();
  };
  EXPECT_TRUE(is_read("[[8]]"));
  EXPECT_FALSE(is_read(std::string(200'000, '[') + std::string(200'000, ']')));
}

}  // namespace
}  // namespace redline::trace
