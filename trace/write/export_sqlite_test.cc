#include "trace/write/export_sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "tests/paths.h"
#include "tests/temporary_folder.h"
#include "tests/trace_text.h"
#include "trace/read/reader.h"
#include "trace/write/sqlite_file.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using namespace redline::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kShapes = R"("Input Dims": [[5], [2, 3], [3, 5], [], []], )"
                                R"("Input type": ["float", "float", "float", "", ""])";

using Traces = std::vector<std::shared_ptr<const Trace>>;
using Rows = std::vector<std::string>;

class ExportSqlite : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_ / "t.db"; }

  static std::shared_ptr<const Trace> rank(int rank) {
    TraceText text;
    text.rank(rank, 2).top("\"host_name\": \"node\"").step(3, 0, 9'000);
    text.cpu_op("aten::linear", 100, 900).cpu_op("aten::addmm", 200, 800, {.args = kShapes});
    text.runtime("cudaLaunchKernel", 300, 350, 5);
    text.kernel("gemm", 1'000, 3'000,
                on_stream(7, 5,
                          R"("grid": [8, 1, 1], "block": [64, 1, 1], )"
                          R"("registers per thread": 32, "est. achieved occupancy %": 25)"));
    text.runtime("cudaMemcpyAsync", 400, 450, 6);
    text.slice("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 3'000, 3'500,
               on_stream(7, 6, R"("bytes": 4096)"));
    text.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 3'500, 4'000 + 100 * rank,
                on_stream(9, 0, R"("In msg nelems": 10, "dtype": "Float", "Seq": 4)"));
    text.event(R"({"ph": "C", "name": "power", "pid": 0, "ts": 1, "args": {"W": 250.5}})");
    text.event(R"({"ph": "i", "name": "[memory]", "s": "t", "pid": 1, "tid": 1, "ts": 2, )"
               R"("args": {"Bytes": 77, "Total Allocated": 77, "Device Type": 1}})");
    return *parse_trace("rank" + std::to_string(rank), text.str());
  }

  /// One event of each kind, and what may lack.
  static std::shared_ptr<const Trace> small(int rank) {
    TraceText text;
    text.rank(rank, 2).top(
        R"("host_name": "no\u0064e", "deviceProperties": [{"id": 0}], "list": [1])");
    text.event(R"({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}})");
    text.event(
        R"({"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "main"}})");
    text.step(3, 0, 9'000).cpu_op("aten::addmm", 200, 800, {.args = kShapes});
    text.runtime("cudaLaunchKernel", 300, 350, 5);
    text.kernel("gemm", 1'000, 3'000,
                on_stream(7, 5,
                          R"("grid": [8, 1, 1], "block": [64, 1, 1], "registers per thread": 32, )"
                          R"("shared memory": 512, "est. achieved occupancy %": 25)"));
    text.kernel("bare", 3'000, 3'100);
    text.slice("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 3'100, 3'500,
               on_stream(8, 6, R"("bytes": 4096)"));
    text.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 3'500, 4'000 + 100 * rank,
                on_stream(9, 0, R"("In msg nelems": 10, "dtype": "Float", "Seq": 4)"));
    text.event(
        R"({"ph": "s", "id": 3, "pid": 1, "tid": 1, "ts": 0.2, "cat": "fwdbwd", "name": "fwdbwd"})");
    text.event(
        R"({"ph": "f", "id": 3, "pid": 1, "tid": 1, "ts": 0.3, "bp": "e", "cat": "fwdbwd", "name": "fwdbwd"})");
    text.event(R"({"ph": "s", "id": 4, "pid": 1, "tid": 1, "ts": 0.2, "cat": "x", "name": "x"})");
    text.event(
        R"({"ph": "f", "id": 4, "pid": 1, "tid": 1, "ts": 0.3, "bp": "e", "cat": "x", "name": "x"})");
    text.event(R"({"ph": "C", "name": "power", "pid": 0, "ts": 1, "args": {"W": 250.5}})");
    text.event(
        R"({"ph": "i", "name": "mark", "s": "t", "pid": 1, "tid": 1, "ts": 2, "args": {"a": 7}})");
    text.event(R"({"ph": "i", "name": "global", "s": "g", "pid": "", "tid": "", "ts": 3})");
    return *parse_trace("rank" + std::to_string(rank), text.str());
  }

  static std::shared_ptr<const Trace> with_bytes_of_no_text() {
    TraceText text;
    text.slice("cpu_op", "op", 0, 1'000, {.args = "\"a\\n\": \"b\xFFä\""});
    return *parse_trace("bytes", text.str());
  }

  static std::shared_ptr<const Trace> with_modules() {
    TraceText text;
    text.slice("python_function", "nn.Module: Model_0", 0, 1'000, {.args = R"("Module name": "")"});
    text.slice("python_function", "nn.Module: Linear_0", 100, 900,
               {.args = R"("Module name": "head")"});
    text.runtime("cudaLaunchKernel", 300, 350, 5);
    text.kernel("gemm", 1'000, 3'000, on_stream(7, 5));
    text.runtime("cudaLaunchKernel", 1'300, 1'350, 6);
    text.kernel("update", 3'000, 3'500, on_stream(7, 6));
    return *parse_trace("modules", text.str());
  }

  /// The rows of a query, with columns joined by '|'.
  [[nodiscard]] Rows query(const std::string& sql) const {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open_v2(path().c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    Rows rows;
    char* error = nullptr;
    const auto collect = [](void* list, int columns, char** values, char**) {
      std::string row;
      for (int i = 0; i < columns; ++i) {
        row += std::string(i > 0 ? "|" : "") + (values[i] != nullptr ? values[i] : "null");
      }
      static_cast<Rows*>(list)->push_back(row);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), collect, &rows, &error), SQLITE_OK)
        << sql << ": " << (error != nullptr ? error : "");
    sqlite3_free(error);
    sqlite3_close(database);
    return rows;
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(ExportSqlite, WhatIsNoTextIsReplacedAndTheRestStays) {
  ASSERT_TRUE(export_sqlite(Traces{with_bytes_of_no_text()}, path(), {.args = true}));
  EXPECT_THAT(query("SELECT args FROM slices"), ElementsAre("{\"a\\n\": \"b\xEF\xBF\xBDä\"}"));
  const std::string args = "\"grid\": [\"\xFF\"], \"block\": [\"\xFE\", 2]";
  const auto kernel =
      parse_trace("kernel", TraceText().slice("kernel", "gemm", 0, 10, {.args = args}).str());
  ASSERT_TRUE(export_sqlite(Traces{*kernel}, path()));
  EXPECT_THAT(query("SELECT grid, block FROM kernels"),
              ElementsAre("[\"\xEF\xBF\xBD\"]|[\"\xEF\xBF\xBD\", 2]"));
}

TEST_F(ExportSqlite, AFileOfSeveralRanksHasNoRank) {
  const auto merged_of = [](const char* ranks) {
    TraceText text;
    text.rank(0, 2).top(fmt::format(R"("redline_merge": {{"ranks": {}}})", ranks));
    return *parse_trace("merged", text.cpu_op("aten::mm", 0, 100).str());
  };
  const auto one = merged_of(R"([{"rank": 0}])");
  const auto two = merged_of(R"([{"rank": 0}, {"rank": 1}])");
  ASSERT_TRUE(export_sqlite(Traces{one, two}, path()));
  EXPECT_THAT(query("SELECT id, ifnull(rank, 'none'), world_size FROM traces"),
              ElementsAre("0|0|2", "1|none|2"));
  EXPECT_THAT(query("SELECT id, ifnull(rank, 'none') FROM events"), ElementsAre("0|0", "1|none"));
}

TEST_F(ExportSqlite, EveryTableHoldsWhatTheTracesSay) {
  ASSERT_TRUE(export_sqlite(Traces{rank(0), rank(1)}, path()));
  EXPECT_THAT(query("SELECT id, rank, world_size, host FROM traces"),
              ElementsAre("0|0|2|node", "1|1|2|node"));
  EXPECT_THAT(
      query("SELECT category, count(*) FROM slices GROUP BY 1 ORDER BY 1"),
      ElementsAre("cpu_op|4", "cuda_runtime|4", "gpu_memcpy|2", "kernel|4", "user_annotation|2"));
  EXPECT_THAT(query("SELECT name, begin_ns, dur_ns FROM events WHERE rank = 1 AND depth = 2"),
              ElementsAre("aten::addmm|200|600"));
  EXPECT_THAT(query("SELECT n.text, k.dur_ns, k.stream, k.grid, k.registers, k.occupancy, l.name "
                    "FROM kernels k JOIN strings n ON n.id = k.name_id "
                    "JOIN events l ON l.id = k.launch_id WHERE k.trace_id = 1"),
              ElementsAre("gemm|2000|7|[8, 1, 1]|32|0.25|cudaLaunchKernel"));
  EXPECT_THAT(query("SELECT bytes, dur_ns FROM copies WHERE trace_id = 0"),
              ElementsAre("4096|500"));
  EXPECT_THAT(query("SELECT trace_id, kind, ranks, seq, seq_recorded, bytes, dur_ns "
                    "FROM collectives"),
              ElementsAre("0|all_reduce|2|4|1|40|500", "1|all_reduce|2|4|1|40|600"));
  EXPECT_THAT(query("SELECT trace_id, number, host_end_ns FROM steps"),
              ElementsAre("0|3|9000", "1|3|9000"));
  EXPECT_THAT(query("SELECT count(*), min(kind) FROM flows"), ElementsAre("4|launch"));
  EXPECT_THAT(query("SELECT s.text, json_extract(args, '$.Bytes') FROM instants "
                    "JOIN strings s ON s.id = name_id LIMIT 1"),
              ElementsAre("[memory]|77"));
  EXPECT_THAT(query("SELECT time_ns, value FROM counters LIMIT 1"), ElementsAre("1000|250.5"));
  EXPECT_THAT(query("SELECT value FROM metadata WHERE key = 'host_name' LIMIT 1"),
              ElementsAre("node"));
  // Parents are operators of the same trace.
  EXPECT_THAT(query("SELECT count(*) FROM events c JOIN events p ON p.id = c.parent_id "
                    "WHERE c.name = 'aten::addmm' AND p.name = 'aten::linear' AND c.rank = p.rank"),
              ElementsAre("2"));
  EXPECT_THAT(query("SELECT count(args) FROM slices"), ElementsAre("0"));
  EXPECT_THAT(query("SELECT count(*), count(DISTINCT text) FROM strings WHERE text = 'gemm'"),
              ElementsAre("1|1"));
}

// All rows of all tables, in their order; the first hundred characters of each.
TEST_F(ExportSqlite, TheTablesOfTwoSmallTracesAreThese) {
  ASSERT_TRUE(export_sqlite(Traces{small(0), small(1)}, path(), {.args = true}));
  Rows rows;
  for (const std::string& table : query("SELECT name FROM sqlite_master WHERE type = 'table'")) {
    for (const std::string& row : query("SELECT * FROM " + table))
      rows.push_back(table + " " + row.substr(0, 100));
  }
  std::string text;
  for (const std::string& row : rows) text += row + "\n";
  EXPECT_EQ(text, R"sql(traces 0|rank0|0|2|node|0|9000|16
traces 1|rank1|1|2|node|0|9000|16
metadata 0|deviceProperties|[{"id": 0}]
metadata 0|distributedInfo|{"backend":"gloo","rank":0,"world_size":2}
metadata 0|host_name|node
metadata 0|list|[1]
metadata 0|schemaVersion|1
metadata 1|deviceProperties|[{"id": 0}]
metadata 1|distributedInfo|{"backend":"gloo","rank":1,"world_size":2}
metadata 1|host_name|node
metadata 1|list|[1]
metadata 1|schemaVersion|1
strings 0|1
strings 1|python
strings 2|main
strings 3|ProfilerStep#3
strings 4|aten::addmm
strings 5|cudaLaunchKernel
strings 6|gemm
strings 7|0
strings 8|7
strings 9|bare
strings 10|Memcpy HtoD (Pageable -> Device)
strings 11|8
strings 12|ncclDevKernel_AllReduce_Sum_f32_RING_LL
strings 13|9
strings 14|power
strings 15|power: W
strings 16|mark
strings 17|global
strings 18|
tracks 0|0|gpu|0|7|||0|7
tracks 1|0|gpu|0|8|||0|8
tracks 2|0|gpu|0|9|||0|9
tracks 3|0|cpu|1|1|python|main|null|null
tracks 4|1|gpu|0|7|||0|7
tracks 5|1|gpu|0|8|||0|8
tracks 6|1|gpu|0|9|||0|9
tracks 7|1|cpu|1|1|python|main|null|null
slices 0|0|0|0|null|kernel|6|1000|2000|5|{"grid": [8, 1, 1], "block": [64, 1, 1], "registers per thread": 3
slices 1|0|0|0|null|kernel|9|3000|100|null|{}
slices 2|0|1|0|null|gpu_memcpy|10|3100|400|6|{"bytes": 4096, "correlation": 6}
slices 3|0|2|0|null|kernel|12|3500|500|null|{"In msg nelems": 10, "dtype": "Float", "Seq": 4}
slices 4|0|3|0|null|user_annotation|3|0|9000|null|{}
slices 5|0|3|1|4|cpu_op|4|200|600|null|{"Input Dims": [[5], [2, 3], [3, 5], [], []], "Input type": ["float"
slices 6|0|3|2|5|cuda_runtime|5|300|50|5|{"correlation": 5}
slices 7|1|4|0|null|kernel|6|1000|2000|5|{"grid": [8, 1, 1], "block": [64, 1, 1], "registers per thread": 3
slices 8|1|4|0|null|kernel|9|3000|100|null|{}
slices 9|1|5|0|null|gpu_memcpy|10|3100|400|6|{"bytes": 4096, "correlation": 6}
slices 10|1|6|0|null|kernel|12|3500|600|null|{"In msg nelems": 10, "dtype": "Float", "Seq": 4}
slices 11|1|7|0|null|user_annotation|3|0|9000|null|{}
slices 12|1|7|1|11|cpu_op|4|200|600|null|{"Input Dims": [[5], [2, 3], [3, 5], [], []], "Input type": ["floa
slices 13|1|7|2|12|cuda_runtime|5|300|50|5|{"correlation": 5}
kernels 0|0|6|0|7|1000|2000|6|[8, 1, 1]|[64, 1, 1]|32|512|0.25
kernels 1|0|9|0|7|3000|100|null|null|null|null|null|null
kernels 3|0|12|0|9|3500|500|null|null|null|null|null|null
kernels 7|1|6|0|7|1000|2000|13|[8, 1, 1]|[64, 1, 1]|32|512|0.25
kernels 8|1|9|0|7|3000|100|null|null|null|null|null|null
kernels 10|1|12|0|9|3500|600|null|null|null|null|null|null
copies 2|0|10|0|8|3100|400|null|4096
copies 9|1|10|0|8|3100|400|null|4096
collectives 3|0|12|all_reduce||2|4|1|40|0|3500|500
collectives 10|1|12|all_reduce||2|4|1|40|0|3500|600
steps 0|3|0|9000|0|9000
steps 1|3|0|9000|0|9000
operators_by_shape 0|4|[[5], [2, 3], [3, 5], [], []]|["float", "float", "float", "", ""]|1|0|60|144|2000|600|3.0e-05|0.
operators_by_shape 1|4|[[5], [2, 3], [3, 5], [], []]|["float", "float", "float", "", ""]|1|0|60|144|2000|600|3.0e-05|0.
flows 5|6|other
flows 6|0|launch
flows 12|13|other
flows 13|7|launch
instants 0|3|16|2000|{"a": 7}
instants 0|null|17|3000|null
instants 1|7|16|2000|{"a": 7}
instants 1|null|17|3000|null
counters 0|0|15|1000|250.5
counters 1|0|15|1000|250.5
)sql");
}

TEST_F(ExportSqlite, HasNoLengthOfACollectiveThatTheTraceDoesNotTell) {
  TraceText text;
  text.slice("user_annotation", "nccl:all_reduce", 100, 200)
      .slice("user_annotation", "gloo:all_reduce", 300, 500);
  ASSERT_TRUE(export_sqlite(Traces{*parse_trace("t", text.str())}, path()));
  EXPECT_THAT(query("SELECT begin_ns, dur_ns FROM collectives"),
              ElementsAre("100|null", "300|200"));
}

TEST_F(ExportSqlite, TellsItsProgressAndStopsWhenItIsCancelled) {
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  std::atomic<bool> cancel = false;
  size_t most = 99;
  const auto progress = [&](uint64_t done, uint64_t total) {
    seen.emplace_back(done, total);
    if (seen.size() == most) cancel = true;
  };
  // Of 5,000 rows of each kind, with kernels that their calls have launched.
  TraceText text;
  for (int i = 0; i < 2'500; ++i) {
    const auto correlation = static_cast<uint32_t>(i + 1);
    text.runtime("cudaLaunchKernel", i * 100, i * 100 + 10, correlation);
    text.kernel("gemm", i * 100 + 20, i * 100 + 90, on_stream(7, correlation));
    for (const int at : {0, 50}) {
      text.event(fmt::format(
          R"({{"ph": "i", "name": "mark", "s": "t", "pid": 1, "tid": 1, "ts": {}}})", i + at));
      text.event(fmt::format(
          R"({{"ph": "C", "name": "power", "pid": 0, "ts": {}, "args": {{"W": {}}}}})", i + at, i));
    }
  }
  const Traces traces = {*parse_trace("x", text.str())};
  ASSERT_TRUE(export_sqlite(traces, path(), {.progress = progress, .cancel = &cancel}));
  const std::vector<std::pair<uint64_t, uint64_t>> all = {
      {4'096, 17'500}, {8'192, 17'500}, {12'288, 17'500}, {16'384, 17'500}};
  EXPECT_EQ(seen, all);
  EXPECT_THAT(query("SELECT (SELECT count(*) FROM slices), (SELECT count(*) FROM flows), (SELECT "
                    "count(*) FROM instants), "
                    "(SELECT count(*) FROM counters)"),
              ElementsAre("5000|2500|5000|5000"));
  for (most = 1; most <= 4; ++most) {
    seen.clear();
    cancel = false;
    const auto stopped = export_sqlite(traces, path(), {.progress = progress, .cancel = &cancel});
    EXPECT_EQ(stopped.error(), "cancelled");
    EXPECT_GE(seen.size(), most);
    EXPECT_FALSE(fs::exists(partial_path(path())));
  }
}

TEST_F(ExportSqlite, WorkHasItsModule) {
  ASSERT_TRUE(export_sqlite(Traces{with_modules(), rank(0), with_modules()}, path()));
  EXPECT_THAT(query("SELECT id, parent_id, name, label, type, forward_calls, forward_host_ns, "
                    "forward_device_ns, exposed_ns FROM modules WHERE trace_id = 2"),
              ElementsAre("3|null||||0|1000|2500|2500", "4|3||Model_0|Model|1|1000|2000|2000",
                          "5|4|head|head|Linear|1|800|2000|2000"));
  EXPECT_THAT(
      query("SELECT e.name, w.module_id, w.pass FROM module_work w "
            "JOIN events e ON e.id = w.slice_id ORDER BY e.id"),
      ElementsAre("gemm|2|forward", "update|0|forward", "gemm|5|forward", "update|3|forward"));
}

TEST_F(ExportSqlite, ArgsOnRequestAndARunTwiceReplacesTheFirst) {
  ASSERT_TRUE(export_sqlite(Traces{rank(0)}, path()));
  ASSERT_TRUE(export_sqlite(Traces{rank(0)}, path(), {.args = true}));
  EXPECT_THAT(query("SELECT json_extract(args, '$.bytes') FROM slices WHERE category = "
                    "'gpu_memcpy'"),
              ElementsAre("4096"));
}

TEST_F(ExportSqlite, ArgsAreJsonOrNull) {
  TraceText text;
  text.cpu_op("sound", 0, 10, {.args = R"("External id": 6)"});
  text.cpu_op("unsound", 20, 30, {.args = R"("External id": 7, "x": inf)"});
  text.event(
      R"({"ph": "X", "cat": "cpu_op", "name": "bare", "pid": 1, "tid": 1, "ts": 1, "dur": 1})");
  text.event(R"({"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": 2, "args": {"a": NaN}})");
  text.kernel("gemm", 3'000, 4'000, on_stream(7, 0, R"("grid": [8, NaN, 1], "block": [64, 1, 1])"));
  ASSERT_TRUE(export_sqlite(Traces{*parse_trace("t", text.str())}, path(), {.args = true}));
  EXPECT_THAT(query("SELECT name, json_extract(args, '$.\"External id\"'), args "
                    "FROM slices JOIN events USING(id) WHERE slices.category = 'cpu_op'"),
              ElementsAre(R"(sound|6|{"External id": 6})",
                          R"(unsound|7|{"External id": 7, "x": "inf"})", "bare|null|null"));
  EXPECT_THAT(query("SELECT args FROM instants"), ElementsAre(R"({"a": "NaN"})"));
  EXPECT_THAT(query("SELECT grid, block, json_valid(grid) FROM kernels"),
              ElementsAre(R"("[8, NaN, 1]"|[64, 1, 1]|1)"));
}

TEST_F(ExportSqlite, LeavesFilesOfOthersAlone) {
  std::ofstream(path()) << "a diary";
  const auto refused = export_sqlite(Traces{rank(0)}, path());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("no export of Redline's"));
  EXPECT_EQ(fs::file_size(path()), 7U);

  fs::remove(path());
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  sqlite3_exec(other, "CREATE TABLE t(x)", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  EXPECT_FALSE(export_sqlite(Traces{rank(0)}, path()));
  EXPECT_THAT(why_not_overwrite(folder_.path()).value_or(""), HasSubstr("is not a file"));
}

TEST_F(ExportSqlite, CancelledOrRefusedLeavesNothing) {
  TraceText text;
  for (int i = 0; i < 10'000; ++i) text.cpu_op("aten::mm", i * 10, i * 10 + 5);
  const std::atomic<bool> cancel = true;
  const auto done =
      export_sqlite(Traces{*parse_trace("x", text.str())}, path(), {.cancel = &cancel});
  EXPECT_EQ(done.error(), "cancelled");
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  EXPECT_FALSE(export_sqlite(Traces{rank(0)}, folder_ / "none/t.db"));
}

// Runs the queries of docs/sqlite.md exactly as they stand there.
TEST_F(ExportSqlite, DocumentedQueriesRun) {
  ASSERT_TRUE(export_sqlite(Traces{rank(0), rank(1), with_modules()}, path()));
  const std::string text = read_file(redline::testing::source_dir() + "/docs/sqlite.md");
  int queries = 0;
  const std::string open = "```sql\n", close = "```";
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    const std::string sql = text.substr(at, text.find(close, at) - at);
    EXPECT_FALSE(query(sql).empty()) << sql;
    ++queries;
  }
  EXPECT_EQ(queries, 6);
}

TEST_F(ExportSqlite, OperatorsByShapeAreThoseOfTheReport) {
  ASSERT_TRUE(export_sqlite(Traces{rank(0)}, path()));
  EXPECT_THAT(
      query("SELECT text, input_dims, calls, recomputed_calls, flops, bytes, device_ns, "
            "host_ns, percent_of_peak, bound FROM operators_by_shape JOIN strings ON id = "
            "name_id WHERE flops > 0"),
      ElementsAre("aten::addmm|[[5], [2, 3], [3, 5], [], []]|1|0|60|144|2500|600|null|null"));
}

}  // namespace
}  // namespace redline::trace
