#include "viewer/models/modules.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "viewer/models/analyse.h"
#include "viewer/models/search.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

// Two layers and what is around them: 30 and 10 us of GPU work, and 10 us outside of modules.
Session two_layers() {
  TestTrace trace(0);
  trace.slice("user_annotation", "ProfilerStep#1", 1, 1, 0, 200)
      .slice("python_function", "nn.Module: Net_0", 1, 1, 10, 80)
      .slice("python_function", "nn.Module: Linear_0", 1, 1, 20, 20)
      .slice("cpu_op", "aten::mm", 1, 1, 22, 10)
      .launch("gemm", 24, 100, 30)
      .slice("python_function", "nn.Module: Linear_1", 1, 1, 50, 20)
      .slice("cpu_op", "aten::mm", 1, 1, 52, 10)
      .launch("gemm", 54, 130, 10)
      .slice("cpu_op", "aten::add_", 1, 1, 100, 10)
      .launch("add", 102, 150, 10);
  return Session({trace.read()});
}

TEST(Modules, FiguresAreThoseOfTheReport) {
  const Session session = two_layers();
  const auto report = analyse_session(session).report;
  const auto told = nlohmann::json::parse(trace::report_json(*report))["traces"][0]["modules"];
  const Table table = module_table(*report);
  ASSERT_EQ(table.rows.size(), 2U) << "both layers are of one class, and have no names";
  const auto column = [&](size_t row, std::string_view title) {
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].title == title) return table.rows[row].values[c].whole();
    }
    ADD_FAILURE() << "no column " << title;
    return int64_t{0};
  };
  const auto of_layers = [&](const char* key) {
    return told[2][key].get<int64_t>() + told[3][key].get<int64_t>();
  };
  for (const auto& [title, key] : {std::pair("Own", "self_device_ns"), {"Exposed", "exposed_ns"}}) {
    EXPECT_EQ(column(0, title), told[1][key]) << title;
    EXPECT_EQ(column(1, title), of_layers(key)) << title;
  }
  EXPECT_EQ(column(0, "GPU time"), told[1]["forward"]["device_ns"]);
  EXPECT_EQ(column(0, "GPU time"), 40'000);
  EXPECT_EQ(column(1, "GPU time"), 40'000);
  EXPECT_EQ(column(1, "Modules"), 2);
  EXPECT_EQ(column(0, "Host"), told[1]["forward"]["host_ns"]);
  EXPECT_EQ(cell_text(table, 1, "Share"), "80.0 %");
  EXPECT_EQ(cell_text(table, 1, "Module"), "Net_0.Linear");
}

TEST(Modules, ARowLeadsToACallOfItsModule) {
  const Session session = two_layers();
  const auto report = analyse_session(session).report;
  for (const TableRow& row : module_table(*report).rows) {
    EXPECT_FALSE(places_of(session, row.name).empty()) << row.name;
  }
}

TEST(Modules, BoxesAreAsWideAsTheTimeInThem) {
  const Session session = two_layers();
  const Flame icicle = *analyse_session(session).modules;
  std::map<std::string, double> widths;
  for (const FlameBox& box : flame_boxes(icicle, 0, 500)) {
    widths[icicle.node(box.node).name] = box.width;
  }
  EXPECT_EQ(widths,
            (std::map<std::string, double>{{"all", 500}, {"Net_0", 400}, {"Linear (2)", 400}}));
  EXPECT_NE(icicle.node(1).slice_class, icicle.node(2).slice_class) << "a colour a class";
  ASSERT_EQ(icicle.words.size(), 3U);
  EXPECT_EQ(icicle.words[1],
            "GPU time 40.0 µs, 80.0 % of all\nforward 40.0 µs, backward 0 ns\nown 0 ns\n"
            "exposed 40.0 µs, host 80.0 µs");
  EXPECT_EQ(module_words(*analyse_session(session).report)[1],
            "10.0 µs of GPU time, 20.0 %, belongs to no module.");
}

TEST(Modules, ATraceWithoutModulesHasNone) {
  const Session session({training_trace(0).read()});
  const AnalysedSession analysed = analyse_session(session);
  EXPECT_TRUE(analysed.tables->modules.rows.empty());
  EXPECT_TRUE(analysed.modules->nodes.empty());
  EXPECT_TRUE(module_words(*analysed.report).empty());
}

}  // namespace
}  // namespace redline::viewer
