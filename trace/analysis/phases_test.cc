#include "trace/analysis/step_phases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "trace/analysis/analysis.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

std::optional<PhaseTimes> phases_of(const TraceText& text) { return analysis_of(text).phases; }

PhaseTime of(const PhaseTimes& phases, Phase phase) { return phases[static_cast<size_t>(phase)]; }

TEST(Phases, ByAutogradNodesAndOptimizerAnnotations) {
  const Row autograd{.tid = "2"};
  const auto phases = phases_of(
      TraceText()
          .step(0, 0, 2000)
          .annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 100)
          .cpu_op("aten::stack", 10, 90)  // inside the DataLoader
          .annotation("my forward", 100, 500)
          .cpu_op("aten::linear", 100, 300)
          .cpu_op("aten::addmm", 150, 250)
          .runtime("cudaLaunchKernel", 200, 210, 1)
          .cpu_op("autograd::engine::evaluate_function: AddmmBackward0", 500, 900, autograd)
          .cpu_op("AddmmBackward0", 510, 890, autograd)
          .cpu_op("aten::mm", 520, 800, autograd)
          .slice("cuda_runtime", "cudaLaunchKernel", 600, 610, {.tid = "2", .correlation = 2})
          .annotation("Optimizer.step#SGD.step", 1000, 1200)
          .cpu_op("aten::add_", 1010, 1190)
          .runtime("cudaLaunchKernel", 1100, 1110, 3)
          .annotation("Optimizer.zero_grad#SGD.zero_grad", 1300, 1350)
          .kernel("gemm", 300, 600, on_stream(7, 1))
          .kernel("gemm", 700, 1100, on_stream(7, 2))
          .kernel("add", 1200, 1250, on_stream(7, 3)));
  ASSERT_TRUE(phases);
  EXPECT_EQ(of(*phases, Phase::kForward).host_ns, 200);
  EXPECT_EQ(of(*phases, Phase::kForward).device_ns, 300);
  EXPECT_EQ(of(*phases, Phase::kBackward).host_ns, 400);
  EXPECT_EQ(of(*phases, Phase::kBackward).device_ns, 400);
  EXPECT_EQ(of(*phases, Phase::kOptimizer).host_ns, 250);
  EXPECT_EQ(of(*phases, Phase::kOptimizer).device_ns, 50);
}

TEST(Phases, TracesOf2021NameBackwardNodesAlone) {
  const auto phases = phases_of(TraceText()
                                    .step(0, 0, 1000)
                                    .cpu_op("aten::linear", 0, 300)
                                    .cpu_op("AddmmBackward", 400, 600)
                                    .cpu_op("torch::autograd::AccumulateGrad", 600, 650)
                                    .cpu_op("aten::convolution_backward", 800, 900));
  ASSERT_TRUE(phases);
  EXPECT_EQ(of(*phases, Phase::kBackward).host_ns, 250);
  EXPECT_EQ(of(*phases, Phase::kForward).host_ns, 400);
}

TEST(Phases, AreMeansOfTheSteps) {
  const auto phases = phases_of(TraceText()
                                    .step(0, 0, 1000)
                                    .step(1, 1000, 2000)
                                    .cpu_op("MulBackward0", 100, 200)
                                    .cpu_op("MulBackward0", 1100, 1400)
                                    .cpu_op("MulBackward0", 3000, 4000));  // after the steps
  ASSERT_TRUE(phases);
  EXPECT_EQ(of(*phases, Phase::kBackward).host_ns, (100 + 300) / 2);
}

// An operator that autograd records. It numbers those of the forward pass, but not those of the
// update.
Row recorded(int number) { return {.args = fmt::format("\"Sequence number\": {}", number)}; }

TEST(Phases, AClosureIsForwardAndBackwardWithinTheOptimizersStep) {
  const auto phases = phases_of(
      TraceText()
          .step(0, 0, 4000)
          .annotation("Optimizer.step#LBFGS.step", 0, 3000)
          .annotation("Optimizer.zero_grad#LBFGS.zero_grad", 50, 90)
          .cpu_op("aten::linear", 100, 400, recorded(1))
          .cpu_op("aten::addmm", 150, 350, recorded(2))
          .cpu_op("aten::ones_like", 410, 420)
          .cpu_op("autograd::engine::evaluate_function: AddmmBackward0", 500, 900, recorded(2))
          .cpu_op("aten::mm", 520, 800)
          .cpu_op("aten::add_", 1000, 1200)
          .cpu_op("aten::linear", 1300, 1500, recorded(3))
          .cpu_op("autograd::engine::evaluate_function: AddmmBackward0", 1600, 1900, recorded(3))
          .cpu_op("aten::add_", 2000, 2900));
  ASSERT_TRUE(phases);
  EXPECT_EQ(of(*phases, Phase::kForward).host_ns, 300 + 10 + 200);
  EXPECT_EQ(of(*phases, Phase::kBackward).host_ns, 400 + 300);
  EXPECT_EQ(of(*phases, Phase::kOptimizer).host_ns, 3000 - (900 - (90 - 50)) - (1900 - 1300));
}

TEST(Phases, AClosuresBackwardPassMayRunOnAnotherThread) {
  const auto phases = phases_of(
      TraceText()
          .step(0, 0, 3000)
          .annotation("Optimizer.step#AdamW.step", 0, 2000)
          .cpu_op("aten::linear", 100, 400, recorded(1))
          .runtime("cudaLaunchKernel", 200, 210, 1)
          .cpu_op("autograd::engine::evaluate_function: AddmmBackward0", 500, 900, {.tid = "2"})
          .cpu_op("aten::_foreach_add_", 1000, 1900)
          .runtime("cudaLaunchKernel", 1100, 1110, 2)
          .kernel("gemm", 300, 600, on_stream(7, 1))
          .kernel("add", 1200, 1250, on_stream(7, 2)));
  ASSERT_TRUE(phases);
  EXPECT_EQ(of(*phases, Phase::kForward).host_ns, 300);
  EXPECT_EQ(of(*phases, Phase::kForward).device_ns, 300);
  EXPECT_EQ(of(*phases, Phase::kBackward).host_ns, 400);
  EXPECT_EQ(of(*phases, Phase::kOptimizer).host_ns, 2000 - 900);
  EXPECT_EQ(of(*phases, Phase::kOptimizer).device_ns, 50);
}

TEST(Phases, AClosureEndsWithTheCollectivesThatItsBackwardPassWaitsFor) {
  const auto phases = phases_of(
      TraceText()
          .step(0, 0, 3000)
          .annotation("Optimizer.step#Adam.step", 0, 2500)
          .cpu_op("aten::linear", 100, 400, recorded(1))
          .cpu_op("autograd::engine::evaluate_function: AddmmBackward0", 500, 900, recorded(1))
          .slice("user_annotation", "gloo:all_reduce", 800, 1900, {.tid = "2"})
          .cpu_op("aten::as_strided", 1905, 1910)
          .cpu_op("torch.distributed.ddp.reducer::copy_bucket_to_grad", 1910, 1950)
          .cpu_op("aten::lerp_", 2000, 2400)
          .slice("user_annotation", "gloo:broadcast", 2450, 2490, {.tid = "2"}));
  ASSERT_TRUE(phases);
  EXPECT_EQ(of(*phases, Phase::kOptimizer).host_ns, 2500 - 1900 - (1950 - 1910));
}

TEST(Phases, PythonBeforeAStepsFirstOperatorIsItsClosures) {
  const auto update_ns = [](int64_t update_from_ns, int64_t end_ns) {
    const auto phases = phases_of(
        TraceText()
            .step(0, 0, 3000)
            .annotation("Optimizer.step#AdamW.step", 100, end_ns)
            .cpu_op("aten::linear", 2000, 2100, recorded(1))
            .cpu_op("autograd::engine::evaluate_function: AddmmBackward0", 2200, 2400, {.tid = "2"})
            .cpu_op("aten::_fused_adamw_", update_from_ns, update_from_ns + 50));
    return of(*phases, Phase::kOptimizer).host_ns;
  };
  EXPECT_EQ(update_ns(2450, 2600), 2600 - 2400);
  EXPECT_EQ(update_ns(150, 2600), 2600 - 100 - (2400 - 2000)) << "an update before it";
  EXPECT_EQ(update_ns(2450, 2400), 0) << "a step that ends with its closure";
}

TEST(Phases, AnOptimizerInBackwardHooksHasNoClosureAndIsNoPartOfTheBackwardPass) {
  const auto phases = phases_of(TraceText()
                                    .step(0, 0, 1000)
                                    .cpu_op("torch::autograd::AccumulateGrad", 100, 900)
                                    .slice("python_function", "train.py(7): hook", 150, 850)
                                    .annotation("Optimizer.step#SGD.step", 200, 800)
                                    .cpu_op("aten::add_", 300, 400, recorded(4)));
  ASSERT_TRUE(phases);
  EXPECT_EQ(of(*phases, Phase::kBackward).host_ns, 800 - 600);
  EXPECT_EQ(of(*phases, Phase::kOptimizer).host_ns, 600);
}

TEST(Phases, InferenceHasNone) {
  EXPECT_FALSE(phases_of(TraceText().step(0, 0, 1000).cpu_op("aten::linear", 0, 300)));
}

}  // namespace
}  // namespace redline::trace
