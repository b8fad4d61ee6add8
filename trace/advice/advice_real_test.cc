// What the rules find in real traces. Each list was judged by hand: it is what an expert would say
// about that run, and no more.
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "trace/advice/advice.h"
#include "trace/model/slice_view.h"
#include "trace/read/reader.h"
#include "trace/report/report.h"

namespace redline::trace {
namespace {

struct Judged {
  const char* trace;
  std::vector<std::string> rules;  // the largest gain first
};

void PrintTo(const Judged& judged, std::ostream* out) { *out << judged.trace; }

class AdviceOnRealTraces : public ::testing::TestWithParam<Judged> {};

TEST_P(AdviceOnRealTraces, FindsWhatAnExpertWouldSay) {
  const auto trace = redline::testing::real_trace(GetParam().trace);
  if (!trace) GTEST_SKIP() << "no shared traces here";
  std::vector<std::string> rules;
  for (const Finding& finding : advise(analyze(trace))) rules.push_back(finding.rule);
  EXPECT_EQ(rules, GetParam().rules);
}

TEST_P(AdviceOnRealTraces, EachFindingHasItsEvidence) {
  const auto trace = redline::testing::real_trace(GetParam().trace);
  if (!trace) GTEST_SKIP() << "no shared traces here";
  for (const Finding& finding : advise(analyze(trace))) {
    SCOPED_TRACE(finding.rule);
    EXPECT_FALSE(finding.evidence.empty());
    EXPECT_FALSE(finding.events.empty());
    EXPECT_LE(finding.headline.size(), 50);
    EXPECT_GT(finding.estimated_speedup.value_or(2), 1);
    for (const EvidenceEvent& event : finding.events) {
      EXPECT_LE(trace->begin_ns(), event.begin_ns);
      EXPECT_LE(event.end_ns, trace->end_ns());
      if (!event.slice) continue;
      EXPECT_EQ(name_of(*trace, event.slice), event.name);
      EXPECT_EQ(interval_of(*trace, event.slice), (Interval{event.begin_ns, event.end_ns}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shared, AdviceOnRealTraces,
    ::testing::Values(
        // A first run of a model: seconds of CUDA set-up, ten convolutions.
        Judged{"alexnet_a100", {"startup_recorded"}},
        // The GPU runs 23 % of the time behind a slow host, which runs Python between operators for
        // a seventh of it; TF32 is on, layouts are turned.
        Judged{"ddp_a100_nccl_metadata_rank0",
               {"launch_bound", "low_gpu_utilization", "communication", "tensor_cores_unused",
                "layout_transposes"}},
        // Small FP32 kernels, one all-reduce a parameter, and 20 GiB of memory free.
        Judged{"ddp_v100_memory_rank1",
               {"memory_unused", "launch_bound", "communication", "tensor_cores_unused",
                "optimizer_per_parameter"}},
        // Recommendation models with all-to-all; CUDA graphs in the second.
        Judged{"diff_after_v100_rank1",
               {"tensor_cores_unused", "communication", "synchronizing_calls"}},
        Judged{"diff_before_a100_rank3",
               {"communication", "synchronizing_calls", "tensor_cores_unused", "tf32_off"}},
        // In two thirds of the GPU's idle time no operator runs, mostly within backward. The file
        // names no device: nothing can be said of Tensor Cores.
        Judged{"fsdp_sampled_rank0", {"low_gpu_utilization", "communication", "launch_bound"}},
        Judged{"fsdp_sampled_rank1", {"low_gpu_utilization", "communication", "launch_bound"}},
        // The optimizer's and the layouts' time is hidden or tiny; cudnn.benchmark is not known.
        Judged{"resnet50_v100_workers0",
               {"dataloader_wait", "tensor_cores_unused", "pageable_copies"}},
        Judged{"resnet50_v100_workers4",
               {"tensor_cores_unused", "launch_bound", "pageable_copies"}},
        // Inference in 16 bits and fewer, one request at a time, with Python between operators.
        Judged{"vllm_eager_b200", {"launch_bound", "low_gpu_utilization"}},
        Judged{"vit_h100", {"memory_unused", "launch_bound", "low_gpu_utilization"}},
        Judged{"qwen05b_h100", {"fusible_kernels", "memory_unused"}},
        // Every product is in BFloat16, on an AMD GPU.
        Judged{"bert_small_mi300x", {"low_gpu_utilization"}},
        Judged{"resnet_checkpointed_mi300x", {"communication"}},
        // The GPU is 97 % busy, so only the precision can help.
        Judged{"v100_nanoseconds_rank0", {"tensor_cores_unused"}}),
    [](const auto& info) { return std::string(info.param.trace); });

}  // namespace
}  // namespace redline::trace
