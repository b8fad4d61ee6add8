#include "trace/analysis/modules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/parsed_trace.h"
#include "trace/analysis/module_rows.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

const Row kBackwardThread = {.tid = "2"};
constexpr const char* kNode = "autograd::engine::evaluate_function: ";

void add_frame(TraceText& text, const std::string& name, int64_t begin_us, int64_t end_us,
               const Row& row = {}) {
  text.slice("python_function", "nn.Module: " + name, begin_us * kUs, end_us * kUs, row);
}

// An operator with a kernel on the GPU.
void add_operator(TraceText& text, const std::string& name, int64_t begin_us, int64_t end_us,
                  uint32_t correlation, int64_t kernel_us, int64_t kernel_length_us, Row row = {},
                  int stream = 7) {
  text.cpu_op(name, begin_us * kUs, end_us * kUs, row);
  row.correlation = correlation;
  row.args.clear();
  text.slice("cuda_runtime", "cudaLaunchKernel", (begin_us + 1) * kUs, (begin_us + 2) * kUs, row);
  text.kernel("kernel_of_" + name, kernel_us * kUs, (kernel_us + kernel_length_us) * kUs,
              on_stream(stream, correlation));
}

void add_arrow(TraceText& text, int id, int64_t forward_us, const char* forward_tid,
               int64_t backward_us) {
  constexpr const char* kEnd =
      R"({{"ph":"{}","id":{},"cat":"fwdbwd","name":"fwdbwd","pid":1,"tid":{},"ts":{},"bp":"e"}})";
  text.event(fmt::format(fmt::runtime(kEnd), "s", id, forward_tid, forward_us));
  text.event(fmt::format(fmt::runtime(kEnd), "f", id, 2, backward_us));
}

// A model of a checkpointed block and a layer behind it, forward, backward and the optimizer.
TraceText training_step() {
  TraceText text;
  add_frame(text, "GPT_0", 0, 100);
  add_frame(text, "Block_0", 10, 60);
  add_frame(text, "Linear_0", 20, 40);
  add_operator(text, "aten::linear", 22, 38, 1, 50, 20);
  add_frame(text, "Linear_1", 60, 90);
  add_operator(text, "aten::linear", 62, 80, 2, 70, 10);
  const std::string node = kNode;
  add_operator(text, node + "AddmmBackward0", 110, 120, 3, 120, 30, kBackwardThread);
  add_operator(text, node + "torch::autograd::AccumulateGrad", 120, 125, 4, 150, 5,
               kBackwardThread);
  add_arrow(text, 1, 62, "1", 110);
  text.cpu_op(node + "CheckpointFunctionBackward", 130 * kUs, 180 * kUs, kBackwardThread);
  add_frame(text, "Block_0", 135, 160, kBackwardThread);
  add_frame(text, "Linear_0", 140, 150, kBackwardThread);
  add_operator(text, "aten::linear", 142, 148, 5, 160, 20, kBackwardThread);
  add_operator(text, node + "AddmmBackward0", 165, 175, 6, 180, 20, kBackwardThread);
  text.cpu_op("AddmmBackward0", 166 * kUs, 174 * kUs, kBackwardThread);
  add_arrow(text, 2, 142, "2", 166);
  add_operator(text, "aten::_foreach_add_", 182, 190, 7, 190, 25, {}, 8);
  return text;
}

ModuleWork work(int64_t calls, int64_t host_us, int64_t device_us) {
  return {.calls = calls, .host_ns = host_us * kUs, .device_ns = device_us * kUs};
}

TEST(Modules, WorkBelongsToTheCallThatCausedIt) {
  const ModuleTree tree = analysis_of(training_step()).modules;
  ASSERT_EQ(tree.nodes.size(), 5U);
  const auto& [process, model, block, inner, last] =
      std::tie(tree.nodes[0], tree.nodes[1], tree.nodes[2], tree.nodes[3], tree.nodes[4]);
  EXPECT_EQ(model.label(process), "GPT_0");
  EXPECT_EQ(block.parent, 1U);
  EXPECT_EQ(inner.parent, 2U);
  EXPECT_EQ(inner.type, "Linear");
  EXPECT_EQ(last.label(model), "Linear_1");
  EXPECT_EQ(last.parent, 1U);
  EXPECT_EQ(inner.self, (ModulePasses{work(1, 20, 20), work(1, 10, 20), work(1, 10, 20)}));
  EXPECT_EQ(last.self, (ModulePasses{work(1, 30, 10), work(2, 15, 35), work(0, 0, 0)}));
  EXPECT_EQ(block.self, (ModulePasses{work(1, 30, 0), work(0, 0, 0), work(1, 15, 0)}));
  EXPECT_EQ(process.self, (ModulePasses{work(0, 0, 25), work(1, 15, 0), work(0, 0, 0)}));
  EXPECT_EQ(model.total, (ModulePasses{work(1, 100, 30), work(0, 25, 55), work(0, 25, 20)}));
  EXPECT_EQ(process.all().device_ns, 130 * kUs) << "all kernels";
  EXPECT_FALSE(tree.has_names);
}

// DDP reduces the gradients of many modules at once, but FSDP gathers those of one.
TEST(Modules, AReductionInBackwardIsOfNoModuleAGatherInForwardOfItsOwn) {
  TraceText text;
  add_frame(text, "Model_0", 0, 100);
  add_frame(text, "Linear_0", 10, 60);
  add_operator(text, "aten::linear", 12, 20, 1, 50, 20);
  text.runtime("cudaLaunchKernel", 30 * kUs, 31 * kUs, 2);
  text.kernel("ncclDevKernel_AllGather_RING_LL", 70 * kUs, 77 * kUs, on_stream(20, 2));
  add_operator(text, std::string(kNode) + "AddmmBackward0", 110, 130, 3, 120, 30, kBackwardThread);
  Row reduction = kBackwardThread;
  reduction.correlation = 4;
  text.slice("cuda_runtime", "cudaLaunchKernel", 120 * kUs, 121 * kUs, reduction);
  text.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 150 * kUs, 155 * kUs, on_stream(20, 4));
  add_arrow(text, 1, 12, "1", 110);
  const ModuleTree tree = analysis_of(text).modules;
  ASSERT_EQ(tree.nodes.size(), 3U);
  EXPECT_EQ(tree.nodes[2].self, (ModulePasses{work(1, 50, 27), work(1, 20, 30), work(0, 0, 0)}));
  EXPECT_EQ(tree.nodes[0].self, (ModulePasses{work(0, 0, 0), work(0, 0, 5), work(0, 0, 0)}));
}

TEST(Modules, TimeWithWorkOfOthersIsNotExposed) {
  const ModuleTree tree = analysis_of(training_step()).modules;
  // The optimizer's kernel runs from 190 to 215 us, beside the last one of Linear_0.
  EXPECT_EQ(tree.nodes[3].exposed_ns, 50 * kUs);
  EXPECT_EQ(tree.nodes[1].exposed_ns, 95 * kUs);
  EXPECT_EQ(tree.nodes[0].exposed_ns, 120 * kUs) << "the time in which the GPU works";
}

TEST(Modules, NamesAreThoseOfTheLargestModel) {
  TraceText text;
  const auto named = [](const char* name) {
    return Row{.args = fmt::format(R"("Python module id": 0, "Module name": "{}")", name)};
  };
  add_frame(text, "Encoder_0", 0, 10, named(""));
  add_frame(text, "Model_0", 20, 60, named(""));
  add_frame(text, "Encoder_0", 22, 50, named("layers.3"));
  add_frame(text, "Linear_0", 25, 45, named("layers.3.attn.q_proj"));
  add_frame(text, "Linear_0", 45, 48, named("layers.3.attn.q_proj"));
  const ModuleTree tree = analysis_of(text).modules;
  EXPECT_TRUE(tree.has_names);
  ASSERT_EQ(tree.nodes.size(), 5U);
  EXPECT_EQ(tree.nodes[2].label(tree.nodes[0]), "Model_0");
  EXPECT_EQ(tree.nodes[3].name, "layers.3");
  EXPECT_EQ(tree.nodes[4].name, "layers.3.attn.q_proj");
  EXPECT_EQ(tree.nodes[4].label(tree.nodes[3]), "attn.q_proj");
  EXPECT_EQ(tree.nodes[4].self[0], work(2, 23, 0));
}

TEST(Modules, CompiledCodeIsANodeWithItsKernels) {
  TraceText text;
  add_frame(text, "OptimizedModule_0", 0, 100);
  text.cpu_op("Torch-Compiled Region: 0/0", 10 * kUs, 90 * kUs);
  add_operator(text, "CompiledFunction", 12, 80, 1, 50, 20);
  text.cpu_op(std::string(kNode) + "CompiledFunctionBackward", 110 * kUs, 140 * kUs,
              kBackwardThread);
  add_operator(text, "CompiledFunctionBackward", 112, 130, 2, 120, 30, kBackwardThread);
  add_arrow(text, 1, 12, "1", 110);
  const ModuleTree tree = analysis_of(text).modules;
  ASSERT_EQ(tree.nodes.size(), 3U);
  EXPECT_EQ(tree.nodes[2].label(tree.nodes[1]), "Torch-Compiled Region 0/0");
  EXPECT_EQ(tree.nodes[2].self[0], work(1, 80, 20));
  EXPECT_EQ(tree.nodes[2].self[1], work(1, 30, 30));
  ASSERT_EQ(tree.nodes[2].kernels.size(), 2U);
  EXPECT_EQ(tree.nodes[2].kernels[0].total_ns, 30 * kUs);
}

TEST(Modules, MemoryIsThatOfForwardCalls) {
  TraceText text;
  add_frame(text, "Model_0", 0, 100);
  add_frame(text, "Linear_0", 10, 50);
  for (const auto& [time_us, bytes] :
       {std::pair(20, 100), {30, 50}, {40, -30}, {60, 7}, {120, 9}}) {
    text.event(fmt::format(
        R"({{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": {}, "args": )"
        R"({{"Device Type": 1, "Device Id": 0, "Addr": 1, "Bytes": {}}}}})",
        time_us, bytes));
  }
  const ModuleTree tree = analysis_of(text).modules;
  EXPECT_EQ(tree.nodes[2].allocated_bytes, 150);
  EXPECT_EQ(tree.nodes[2].kept_bytes, 120);
  EXPECT_EQ(tree.nodes[1].allocated_bytes, 157);
}

TEST(Modules, FlopsAreThoseOfTheOperatorsInside) {
  TraceText text;
  add_frame(text, "Linear_0", 0, 100);
  text.cpu_op("aten::mm", 10 * kUs, 20 * kUs,
              {.args = R"("Input Dims": [[10, 20], [20, 30]], "Input type": ["float", "float"])"});
  text.cpu_op("aten::mm", 30 * kUs, 40 * kUs,
              {.args = R"("Input Dims": [[10, 20], [20, 30]], "Input type": ["float", "float"])"});
  const ModuleTree tree = analysis_of(text).modules;
  EXPECT_EQ(tree.nodes[1].self[0].flops, 2 * 2 * 10 * 20 * 30);
  EXPECT_EQ(tree.nodes[0].total[0].flops, 24'000);
}

TEST(Modules, RowsPutModulesTogetherWhoseNamesDifferInANumber) {
  TraceText text;
  const auto named = [](const std::string& name) {
    return Row{.args = R"("Module name": ")" + name + "\""};
  };
  add_frame(text, "Model_0", 0, 100, named(""));
  for (const int layer : {0, 1}) {
    const std::string name = "layers." + std::to_string(layer);
    const int64_t at_us = 10 + 40 * layer;
    add_frame(text, "Block_" + std::to_string(layer), at_us, at_us + 30, named(name));
    add_frame(text, "Linear_" + std::to_string(2 * layer), at_us, at_us + 10, named(name + ".0"));
    add_frame(text, "Linear_" + std::to_string(2 * layer + 1), at_us + 10, at_us + 15,
              named(name + ".2"));
  }
  const std::vector<RankSummary> traces = {analysis_of(text)};
  const ModuleRows modules = module_rows(traces);
  std::vector<std::string> labels;
  for (const ModuleRow& row : modules.rows) labels.push_back(row.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"", "Model_0", "layers.*", "0", "2"}));
  EXPECT_EQ(modules.rows[3].total[0], work(2, 20, 0));
  EXPECT_EQ(modules.rows[2].self[0], work(2, 30, 0));
  EXPECT_EQ(modules.rows[4].modules, 2);
}

// ResNet-18 in DistributedDataParallel, three steps, its four stages checkpointed.
TEST(Modules, ARealTraceTellsRecomputationAndLosesNoTime) {
  const auto trace = redline::testing::real_trace("resnet_checkpointed_mi300x");
  if (!trace) GTEST_SKIP() << "no shared traces here";
  const Analysis analysis = analyze(trace);
  ModuleWork convolutions;
  int64_t own_ns = 0, kernel_ns = 0;
  for (const ModuleNode& node : analysis.modules.nodes) {
    own_ns += ModuleNode::sum_of(node.self).device_ns;
    if (node.type == "Conv2d") {
      convolutions += node.self[static_cast<size_t>(ModulePass::kRecomputation)];
    }
  }
  for (const DeviceWork& work : analysis.device_work.rows) kernel_ns += work.interval.length_ns();
  EXPECT_EQ(convolutions.calls, 57);
  EXPECT_EQ(convolutions.device_ns, 2'316'072);
  EXPECT_EQ(own_ns, kernel_ns);
}

TEST(Modules, ATraceWithoutModulesHasNoTree) {
  EXPECT_TRUE(analysis_of(TraceText().cpu_op("aten::mm", 0, 100)).modules.nodes.empty());
}

}  // namespace
}  // namespace redline::trace
