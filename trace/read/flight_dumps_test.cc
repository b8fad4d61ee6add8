#include "trace/read/flight_dumps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "trace/analysis/hang.h"

namespace redline::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string entry(int64_t sequence, const char* operation, const char* sizes, bool is_done) {
  return R"({"collective_seq_id": )" + std::to_string(sequence) +
         R"(, "process_group": ["0", "default_pg"], "profiling_name": "gloo:)" + operation +
         R"(", "input_sizes": )" + sizes +
         R"(, "input_dtypes": ["Float"], "state": "scheduled", )" +
         R"("is_p2p": false, "time_created_ns": 1000, "retired": )" + (is_done ? "true" : "false") +
         "}";
}

std::string dump(const std::string& entries) {
  return R"({"comm_lib_version": "", "entries": [)" + entries +
         R"(], "pg_config": {"": {"name": "", "ranks": "[]"}}, "version": "2.10"})";
}

class FlightDumps : public ::testing::Test {
 protected:
  FlightDumps() : folder_(::testing::TempDir() + "flight_dumps." + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~FlightDumps() override { std::filesystem::remove_all(folder_); }
  std::string put(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  const std::string folder_;
};

TEST_F(FlightDumps, TellWhoIsBehind) {
  const std::string done = entry(1, "all_reduce", "[[8]]", true);
  put("rank0.json", dump(done + "," + entry(2, "all_reduce", "[[8]]", false)));
  put("rank1.json", R"({"comm_lib_version": "", "pg_config": {}, "version": "2.10"})");
  put("rank2.json", dump(done + "," + entry(2, "all_reduce", "[[8]]", false)));
  std::vector<std::string> paths = {folder_};
  const auto tables = take_flight_dumps(paths);
  ASSERT_TRUE(tables);
  EXPECT_THAT(paths, IsEmpty());
  const auto hang = find_hang(*tables);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kNotEntered);
  EXPECT_THAT(hang->ranks, ElementsAre(1));
  EXPECT_THAT(hang->waiting_ranks, ElementsAre(0, 2));
  EXPECT_EQ(hang->sequence, 2);
}

TEST_F(FlightDumps, TellWhoEnteredSomethingElse) {
  put("nccl_trace_rank_0.json", dump(entry(2, "all_reduce", "[[8]]", false)));
  put("nccl_trace_rank_1.json", dump(entry(2, "all_reduce", "[[16]]", false)));
  put("nccl_trace_rank_2.json", dump(entry(2, "all_reduce", "[[8]]", false)));
  std::vector<std::string> paths = {folder_};
  const auto hang = find_hang(*take_flight_dumps(paths));
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kMismatch);
  EXPECT_THAT(hang->ranks, ElementsAre(1));
  EXPECT_EQ(hang->entered, "all_reduce [[16]] Float");
}

// A program in C++ writes what torch lists into its table. Its group has no name, and nothing names
// the group's ranks.
TEST_F(FlightDumps, TheSameEntriesInTheTablesOfRanksTellWhoIsBehind) {
  for (int rank = 0; rank < 3; ++rank) {
    std::string last = entry(7, rank == 1 ? "barrier" : "all_reduce", "[[8]]", false);
    last.replace(last.find(R"("0", "default_pg")"), 17, R"("", "")");
    put("rank" + std::to_string(rank) + kHangTableSuffix,
        R"({"entries": [)" + last + R"(], "schema": "redline.hang/1", "rank": )" +
            std::to_string(rank) + R"(, "world_size": 3, "overdue": true, "written_ns": 2000})");
  }
  const auto hang = find_hang(read_hang_tables(folder_));
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, HangKind::kMismatch);
  EXPECT_THAT(hang->ranks, ElementsAre(1));
  EXPECT_EQ(hang->group, "0");
  EXPECT_EQ(hang->sequence, 7);
  EXPECT_EQ(hang->step, std::nullopt);
  std::vector<std::string> paths{folder_};
  const auto dumps = take_flight_dumps(paths);
  ASSERT_TRUE(dumps) << "such a table is no dump";
  EXPECT_THAT(*dumps, IsEmpty());
}

TEST_F(FlightDumps, ThatLagAreNamedWhereNobodyWaits) {
  const std::string done = dump(entry(2, "all_reduce", "[[8]]", true));
  put("rank0.json", done);
  put("rank1.json", dump(entry(1, "all_reduce", "[[8]]", true)));
  put("rank2.json", done);
  std::vector<std::string> paths = {folder_};
  const auto tables = *take_flight_dumps(paths);
  EXPECT_FALSE(find_hang(tables));
  EXPECT_EQ(lagging_text(tables),
            "The dump of rank 1 lacks all_reduce 2 of group 0, which others list: it did not enter "
            "it, or its dump is older.");
  EXPECT_EQ(lagging_text(std::vector{tables[0], tables[2]}), "");
  EXPECT_EQ(lagging_text({}), "");
  // Who is in another group is not known.
  std::vector<HangTable> waiting = {tables[0], tables[1], tables[2]};
  waiting[0].collectives.push_back({"2", 1, "barrier", "[]", "", false, 7});
  EXPECT_EQ(lagging_text(waiting),
            "The dumps of ranks 1, 2 lack barrier 1 of group 2, which others list: they did not "
            "enter it, their dumps are older, or the group is one of others only.");
}

TEST_F(FlightDumps, StandBesideTraces) {
  const std::string trace = put("a.pt.trace.json", R"({"traceEvents": []})");
  const std::string other = put("b.json", R"({"schemaVersion": 1, "traceEvents": []})");
  put("rank0.json", dump(entry(1, "barrier", "[]", true)));
  std::vector<std::string> paths = {folder_, trace, other};
  const auto tables = take_flight_dumps(paths);
  ASSERT_TRUE(tables);
  EXPECT_EQ(tables->size(), 1U);
  EXPECT_THAT(paths, ElementsAre(folder_, trace, other));
}

TEST_F(FlightDumps, APipeIsLeftToOthers) {
  const std::string pipe = folder_ + "/rank0.json";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::vector<std::string> paths = {pipe};
  EXPECT_THAT(take_flight_dumps(paths).value(), IsEmpty()) << "and nobody waits for its writer";
  EXPECT_THAT(paths, ElementsAre(pipe));
}

TEST_F(FlightDumps, PicklesAndDumpsThatSayTooLittleAreRefused) {
  std::vector<std::string> paths = {put("nccl_trace_rank_0", "\x80\x04\x95 the rest")};
  EXPECT_THAT(take_flight_dumps(paths).error().message, HasSubstr("a pickle"));
  paths = {folder_};
  EXPECT_THAT(take_flight_dumps(paths).error().message, HasSubstr("a pickle"));
  paths = {put("dump.json", dump(""))};
  EXPECT_THAT(take_flight_dumps(paths).error().message, HasSubstr("rank3.json"));
  paths = {put("rank1.json", dump("").substr(0, 40))};
  EXPECT_THAT(take_flight_dumps(paths).error().message, HasSubstr("no dump"));
  for (const char* odd :
       {R"({"entries": 3})", R"({"pg_config": 3, "entries": [3, {}, {"process_group": 3}]})",
        R"({"entries": [{"process_group": [1], "profiling_name": "a"}],
                              "pg_config": {"0": {"ranks": "["}, "1": 2}})"}) {
    static_cast<void>(parse_flight_dump("rank0.json", odd));
  }
}

}  // namespace
}  // namespace redline::trace
