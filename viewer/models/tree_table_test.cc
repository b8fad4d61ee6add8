#include "viewer/models/tree_table.h"

#include <gtest/gtest.h>

#include "tests/temporary_folder.h"
#include "viewer/models/analyse.h"
#include "viewer/models/load.h"
#include "viewer/models/search.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

// A step in which a product and, of two operators or of one, what follows it run on the GPU.
TestTrace run_of(bool fused, int64_t start_us) {
  TestTrace trace(0, start_us);
  trace.slice("user_annotation", "ProfilerStep#1", 1, 1, 0, 190)
      .slice("python_function", "nn.Module: Net_0", 1, 1, 5, 150)
      .slice("cpu_op", "aten::mm", 1, 1, 10, 10)
      .launch("gemm", 12, 50, 20);
  if (fused) {
    return trace.slice("cpu_op", "triton_fused", 1, 1, 30, 10).launch("triton", 32, 80, 12);
  }
  return trace.slice("cpu_op", "aten::add", 1, 1, 30, 10)
      .launch("add", 32, 80, 15)
      .slice("cpu_op", "aten::gelu", 1, 1, 50, 10)
      .launch("gelu", 52, 100, 14);
}

class CallTreePane : public ::testing::Test {
 protected:
  testing::TemporaryFolder folder_;
  const std::shared_ptr<const Session> session_ =
      load_comparison({run_of(false, 1'000'000).write(folder_ / "before.json")},
                      {run_of(true, 99'000'000).write(folder_ / "after.json")})
          ->session;
  const AnalysedSession analysed_ = analyse_session(*session_);
};

TEST_F(CallTreePane, FiguresAreThoseOfRedlineDiff) {
  const auto told = trace::tree_diff_json(*analysed_.tree)["rows"];
  const Table& table = analysed_.tables->tree;
  ASSERT_EQ(table.rows.size(), told.size());
  ASSERT_EQ(table.rows.size(), 2U);
  for (size_t i = 0; i < told.size(); ++i) {
    const auto& values = table.rows[i].values;
    EXPECT_EQ(values[1].text(), told[i]["change"]);
    EXPECT_EQ(values[3].whole(), told[i]["before"]["ns"]);
    EXPECT_EQ(values[4].whole(), told[i]["after"]["ns"]);
    EXPECT_EQ(values[5].whole(), told[i]["delta_ns"]);
    EXPECT_EQ(values[6].kind(), TableValue::Kind::kReal) << "sorted as a number";
  }
}

TEST_F(CallTreePane, SaysWhatWasFusedAndWhereTheTimeWent) {
  const Table& table = analysed_.tables->tree;
  EXPECT_EQ(cell_text(table, 0, "Where"), "Net");
  EXPECT_EQ(cell_text(table, 0, "Module"), "Net");
  EXPECT_EQ(cell_text(table, 0, "Change"), "fused");
  EXPECT_EQ(cell_text(table, 0, "Operators"), "aten::add, aten::gelu → triton_fused");
  EXPECT_EQ(cell_text(table, 0, "Work before"), "2");
  EXPECT_EQ(cell_text(table, 0, "Work after"), "1");
  EXPECT_EQ(cell_text(table, 0, "Difference"), "-17.0 µs");
  EXPECT_EQ(cell_text(table, 0, "Kernels"), "add, gelu → triton");
  EXPECT_EQ(cell_text(table, 1, "Change"), "same");
  EXPECT_EQ(tree_note(*analysed_.tree),
            "GPU time of a step by module and operator: fused -17.0 µs, same 0 ns");
  trace::TreeDiff warned = *analysed_.tree;
  warned.warnings = {"one side has no GPU records: host times are compared"};
  EXPECT_EQ(tree_note(warned),
            tree_note(*analysed_.tree) + "; one side has no GPU records: host times are compared");
}

TEST(CallTree, TheInnermostModulesStandFirst) {
  trace::TreeDiff diff;
  diff.rows.resize(2);
  diff.rows[0].place = "GPT.layers.*.attn.q_proj";
  diff.rows[0].pass = trace::ModulePass::kBackward;
  diff.rows[1].place = "GPT.head";
  const Table table = tree_rows(diff);
  EXPECT_EQ(cell_text(table, 0, "Module"), "…attn.q_proj, backward");
  EXPECT_EQ(cell_text(table, 0, "Where"), "GPT.layers.*.attn.q_proj, backward");
  EXPECT_EQ(cell_text(table, 1, "Module"), "GPT.head");
}

TEST_F(CallTreePane, ARowLeadsToItsKernel) {
  for (const TableRow& row : analysed_.tables->tree.rows) {
    EXPECT_FALSE(places_of(*session_, row.name).empty()) << row.name;
  }
}

}  // namespace
}  // namespace redline::viewer
