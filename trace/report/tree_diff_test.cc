#include "trace/report/tree_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/parsed_trace.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Builds traces of one step, in which each operator launches one kernel.
class StepText {
 public:
  StepText() { text_.step(1, 0, 1'000 * kUs); }

  StepText& module(const std::string& name, int64_t begin_us, int64_t end_us) {
    text_.slice("python_function", "nn.Module: " + name, begin_us * kUs, end_us * kUs);
    return *this;
  }
  StepText& op(const std::string& name, int64_t at_us, const std::string& kernel,
               int64_t kernel_us) {
    text_.cpu_op(name, at_us * kUs, (at_us + 5) * kUs);
    text_.runtime("cudaLaunchKernel", (at_us + 1) * kUs, (at_us + 2) * kUs, ++number_);
    text_.kernel(kernel, gpu_us_ * kUs, (gpu_us_ + kernel_us) * kUs, on_stream(7, number_));
    gpu_us_ += kernel_us;
    return *this;
  }
  StepText& op_of_the_host(const std::string& name, int64_t at_us, int64_t length_us) {
    text_.cpu_op(name, at_us * kUs, (at_us + length_us) * kUs);
    return *this;
  }
  StepText& without_launch(const std::string& kernel, int64_t at_us, int64_t kernel_us) {
    text_.kernel(kernel, at_us * kUs, (at_us + kernel_us) * kUs);
    return *this;
  }
  [[nodiscard]] CallTree tree() const {
    const std::vector<Analysis> traces = {analysis_of(text_)};
    return call_tree(traces);
  }

 private:
  TraceText text_;
  uint32_t number_ = 0;
  int64_t gpu_us_ = 10;
};

CallTree eager() {
  return StepText()
      .module("Model_0", 0, 500)
      .module("Linear_0", 10, 100)
      .op("aten::linear", 20, "volta_sgemm", 100)
      .op("aten::mul", 200, "elementwise<Mul>", 50)
      .op("aten::add", 210, "elementwise<Add>", 30)
      .op("aten::gelu", 220, "elementwise<Gelu>", 20)
      .tree();
}

CallTree compiled() {
  return StepText()
      .module("DistributedDataParallel_0", 0, 600)
      .module("Model_0", 0, 500)
      .module("Linear_0", 10, 100)
      .op("aten::linear", 20, "ampere_sgemm", 60)
      .op("triton_poi_fused_add_gelu_mul_0", 200, "triton_poi_fused_add_gelu_mul_0", 40)
      .op("aten::clone", 700, "copy", 5)
      .tree();
}

TEST(TreeDiff, SaysWhatWasFusedAndWhereTheTimeWent) {
  const TreeDiff diff = compare_trees(eager(), compiled());
  ASSERT_EQ(diff.rows.size(), 3U);
  EXPECT_TRUE(diff.has_modules);
  EXPECT_TRUE(diff.has_gpu);
  const TreeDiffRow &fused = diff.rows[0], &other = diff.rows[1], &added = diff.rows[2];
  EXPECT_EQ(fused.change, TreeChange::kFused);
  EXPECT_EQ(fused.place, "Model");
  EXPECT_THAT(fused.before.names, ElementsAre("aten::mul", "aten::add", "aten::gelu"));
  EXPECT_THAT(fused.after.names, ElementsAre("triton_poi_fused_add_gelu_mul_0"));
  EXPECT_DOUBLE_EQ(fused.before.work.count, 3);
  EXPECT_DOUBLE_EQ(fused.delta_ns(), -60'000);
  EXPECT_EQ(other.change, TreeChange::kOther);
  EXPECT_EQ(other.place, "Model.Linear");
  EXPECT_THAT(other.after.kernels, ElementsAre("ampere_sgemm"));
  EXPECT_DOUBLE_EQ(other.delta_ns(), -40'000);
  EXPECT_EQ(added.change, TreeChange::kNew);
  EXPECT_EQ(added.place, "");
  EXPECT_DOUBLE_EQ(diff.before.ns, 200'000);
  EXPECT_DOUBLE_EQ(diff.after.ns, 105'000);
}

TEST(TreeDiff, TheOtherWayRoundItIsSplitAndGone) {
  const TreeDiff diff = compare_trees(compiled(), eager());
  ASSERT_EQ(diff.rows.size(), 3U);
  EXPECT_EQ(diff.rows[0].change, TreeChange::kSplit);
  EXPECT_EQ(diff.rows[2].change, TreeChange::kGone);
}

TEST(TreeDiff, EqualRunsHaveOnlySameRows) {
  for (const TreeDiffRow& row : compare_trees(eager(), eager()).rows) {
    EXPECT_EQ(row.change, TreeChange::kSame);
    EXPECT_DOUBLE_EQ(row.delta_ns(), 0);
  }
}

TEST(TreeDiff, ACallTreeCountsAStepAndNothingOutsideOfIt) {
  TraceText text;
  text.step(1, 0, 100 * kUs).step(2, 100 * kUs, 200 * kUs);
  for (const int64_t at_us : {10, 110, 300}) {
    text.cpu_op("aten::mm", at_us * kUs, (at_us + 5) * kUs);
    text.cpu_op("aten::empty", (at_us + 1) * kUs, (at_us + 2) * kUs);
  }
  const std::vector<Analysis> traces = {analysis_of(text)};
  const CallTree tree = call_tree(traces);
  ASSERT_EQ(tree.nodes.size(), 3U) << "the step, its optimizers, aten::mm";
  EXPECT_EQ(tree.nodes[2].name, "aten::mm");
  EXPECT_DOUBLE_EQ(tree.nodes[2].calls, 1);
  EXPECT_DOUBLE_EQ(tree.taken(0, ModulePass::kForward, false).ns, 5'000);
  EXPECT_FALSE(tree.has_gpu);
}

TEST(TreeDiff, OfTracesWithoutMarkedStepsIsThatOfWholeTraces) {
  TraceText text;
  text.cpu_op("aten::mm", 0, 5 * kUs).cpu_op("aten::mm", 10 * kUs, 15 * kUs);
  const std::vector<Analysis> traces = {analysis_of(text)};
  const TreeDiff diff = compare_trees(call_tree(traces), call_tree(traces));
  EXPECT_EQ(time_words(diff), "host time of the trace");
  EXPECT_DOUBLE_EQ(diff.before.ns, 10'000);
}

TEST(TreeDiff, AStepBesideAWholeTraceIsWarnedOf) {
  TraceText text;
  text.cpu_op("aten::mm", 0, 5 * kUs).cpu_op("aten::mm", 10 * kUs, 15 * kUs);
  const std::vector<Analysis> traces = {analysis_of(text)};
  const TreeDiff diff =
      compare_trees(StepText().op_of_the_host("aten::mm", 0, 5).tree(), call_tree(traces));
  EXPECT_THAT(
      tree_diff_text(diff, {}, {2}),
      AllOf(HasSubstr("CALL TREE, host time of a step and a trace "),
            HasSubstr("  one side marks no steps: a step is compared with a whole trace\n")));
}

TEST(TreeDiff, WhereOneSideHasNoGpuRecordsHostTimesAreCompared) {
  const CallTree gpu = StepText().op("aten::mm", 20, "gemm", 100).tree();
  const CallTree host = StepText().op_of_the_host("aten::mm", 20, 7).tree();
  for (const TreeDiff& diff : {compare_trees(gpu, host), compare_trees(host, gpu)}) {
    ASSERT_EQ(diff.rows.size(), 1U);
    EXPECT_EQ(diff.rows[0].change, TreeChange::kSame);
    EXPECT_DOUBLE_EQ(std::abs(diff.rows[0].delta_ns()), 2'000) << "5 us and 7 us on the host";
    EXPECT_FALSE(diff.has_gpu);
    EXPECT_THAT(tree_diff_text(diff, {}, {2}),
                AllOf(HasSubstr("CALL TREE, host time of a step "),
                      HasSubstr("  one side has no GPU records: host times are compared\n")));
  }
  EXPECT_THAT(compare_trees(gpu, gpu).warnings, IsEmpty());
  EXPECT_THAT(compare_trees(host, host).warnings, IsEmpty());
}

TEST(TreeDiff, WorkWithoutALaunchHasARow) {
  const auto run = [](int64_t kernel_us) {
    return StepText()
        .op("aten::mm", 20, "gemm", 100)
        .without_launch("graph_kernel", 500, kernel_us)
        .without_launch("graph_kernel", 2'000, 70)  // after the step
        .tree();
  };
  const TreeDiff diff = compare_trees(run(30), run(50));
  ASSERT_EQ(diff.rows.size(), 2U);
  EXPECT_THAT(diff.rows[0].before.names, ElementsAre("work without a launch in the trace"));
  EXPECT_THAT(diff.rows[0].after.kernels, ElementsAre("graph_kernel"));
  EXPECT_EQ(diff.rows[0].change, TreeChange::kSame);
  EXPECT_DOUBLE_EQ(diff.rows[0].delta_ns(), 20'000);
  EXPECT_DOUBLE_EQ(diff.before.ns, 130'000);
  EXPECT_DOUBLE_EQ(diff.after.ns, 150'000);
}

TEST(TreeDiff, TextAndJsonNameTheChange) {
  const TreeDiff diff = compare_trees(eager(), compiled());
  const std::string text = tree_diff_text(diff, {}, {2});
  EXPECT_THAT(text, HasSubstr("GPU time of a step"));
  EXPECT_THAT(text, HasSubstr("fused Model"));
  EXPECT_THAT(text, HasSubstr("1 more row"));
  EXPECT_THAT(text, HasSubstr("fused -60.0 us, other -40.0 us, new +5.0 us"));
  const auto json = tree_diff_json(diff);
  EXPECT_EQ(json["rows"][0]["change"], "fused");
  EXPECT_EQ(json["rows"][0]["delta_ns"], -60'000);
}

}  // namespace
}  // namespace redline::trace
