#include "trace/read/flight_dumps.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/temporary_folder.h"
#include "trace/analysis/hang.h"
#include "trace/report/hang_words.h"

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
  std::string put(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  const testing::TemporaryFolder place_;
  const std::string folder_ = place_.path();
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
  const std::string list = put("c.json", R"([{"entries": []}])");
  put("rank0.json", "\n " + dump(entry(1, "barrier", "[]", true)));
  std::vector<std::string> paths = {folder_, trace, other, list};
  const auto tables = take_flight_dumps(paths);
  ASSERT_TRUE(tables) << tables.error().message;
  EXPECT_EQ(tables->size(), 1U);
  EXPECT_THAT(paths, ElementsAre(folder_, trace, other, list));
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

std::string described(const HangTable& table) {
  std::string text = fmt::format("{} of {} at {}:", table.rank, table.world_size, table.written_ns);
  for (const CollectiveGroup& group : table.groups) {
    text += " [" + group.name;
    for (const int rank : group.ranks) text += fmt::format(" {}", rank);
    text += fmt::format(" {}]", group.entered);
  }
  for (const EnteredCollective& each : table.collectives) {
    text += fmt::format(" {} {} {} {} {} {} {};", each.group, each.sequence, each.operation,
                        each.sizes, each.types, each.is_done, each.entered_ns);
  }
  return text;
}

TEST(FlightDump, EachMemberIsReadAndTheRestLeftOut) {
  const auto read = [](const std::string& name, const std::string& text) {
    const auto table = parse_flight_dump(name, text);
    return table ? described(*table) : table.error().message;
  };
  const auto with = [&](const std::string& entries, const std::string& groups = "{}") {
    return read("r_7.json", R"({"entries": [)" + entries + R"(], "pg_config": )" + groups + "}");
  };
  EXPECT_EQ(with(""), "7 of 1 at 0:");
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(with(R"({"input_sizes": )" + deep + "}"), "r_7.json: its values are nested too deep");
  EXPECT_EQ(
      with(
          R"({"process_group": ["g", "x"], "profiling_name": "nccl:all_gather", "collective_seq_id": 3,
                     "input_sizes": [[1], [2]], "input_dtypes": ["Float", "Int"],
                     "state": "completed", "time_created_ns": 9})"),
      "7 of 1 at 9: g 3 all_gather [[1],[2]] Float, Int true 9;");
  EXPECT_EQ(
      with(
          R"({"process_group": [""], "pg_id": 5, "profiling_name": "f", "retired": true, "time_created_ns": 4},
                    {"process_group": [""], "pg_id": "x", "profiling_name": "g", "time_created_ns": 2, "retired": 1})"),
      "7 of 1 at 4: 5 0 f []  true 4; 0 0 g []  false 2;");
  for (const char* none :
       {R"({"process_group": ["g"], "profiling_name": "f", "is_p2p": true})",
        R"({"process_group": ["g"]})", R"({"process_group": [], "profiling_name": "f"})",
        R"({"process_group": "g", "profiling_name": "f"})", R"({"profiling_name": "f"})", "5"}) {
    EXPECT_EQ(with(none), "7 of 1 at 0:") << none;
  }
  EXPECT_EQ(
      with(
          "",
          R"({"0": {"name": "a", "ranks": [0, 1]}, "1": {"ranks": "[2, 3]"}, "2": {"name": "none", "ranks": "[]"},
                         "3": {"name": "odd", "ranks": ["x", 4]}, "4": {"name": "bad", "ranks": "["}, "5": 6})"),
      "7 of 1 at 0: [a 0 1 0] [1 2 3 0] [odd 4 0]");
  EXPECT_EQ(with("", "[]"), "7 of 1 at 0:");
  EXPECT_EQ(with("", R"({"0": {"ranks": ")" + deep + R"("}})"), "7 of 1 at 0:");
  const std::string empty = R"({"pg_config": {}})";
  EXPECT_EQ(read("rank3.json", empty), "3 of 1 at 0:");
  EXPECT_EQ(read("2/nccl_trace_1_rank_12", empty), "12 of 1 at 0:");
  EXPECT_EQ(read("1234567x", empty).substr(0, 8), "1234567 ");
  for (const char* name : {"rank.json", "12345678", ""})
    EXPECT_THAT(read(name, empty), HasSubstr("does not say its rank"));
  for (const char* none :
       {"", "[]", "{}", R"({"entries": 5, "pg_config": {}})", R"({"entries": []})"}) {
    EXPECT_EQ(read("r7", none), "r7: no dump of torch's flight recorder") << none;
  }
}

TEST(FlightDump, GroupsThatNobodyNamesHaveWhoEnteredThem) {
  const auto added = [](const std::vector<std::pair<int, std::vector<std::string>>>& ranks,
                        const std::string& known) {
    std::vector<HangTable> tables;
    for (const auto& [rank, groups] : ranks) {
      HangTable table;
      table.rank = rank;
      table.world_size = 3;
      for (const std::string& group : groups) {
        table.collectives.emplace_back();
        table.collectives.back().group = group;
      }
      tables.push_back(table);
    }
    if (!known.empty()) tables.back().groups.push_back({known, {8, 9}, 0});
    add_unknown_groups(tables);
    std::string text;
    for (const CollectiveGroup& group : tables.front().groups) {
      text += group.name;
      for (const int rank : group.ranks) text += fmt::format(" {}", rank);
      text += fmt::format(" {};", group.entered);
    }
    return text;
  };
  EXPECT_EQ(added({{0, {"0"}}, {1, {}}, {2, {"0", "0"}}}, ""), "0 0 1 2 0;");
  EXPECT_EQ(added({{0, {"a"}}, {1, {}}, {2, {"a"}}}, ""), "a 0 1 2 0;")
      << "the only one has all ranks";
  EXPECT_EQ(added({{0, {"a"}}, {1, {"b"}}, {2, {"a"}}}, ""), "a 0 2 0;b 1 0;");
  EXPECT_EQ(added({{0, {"a"}}, {1, {}}, {2, {"a"}}}, "b"), "a 0 2 0;");
  EXPECT_EQ(added({{0, {"a"}}, {1, {}}, {2, {"a"}}}, "a"), "");
}

}  // namespace
}  // namespace redline::trace
