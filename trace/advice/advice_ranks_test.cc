#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_report.h"
#include "tests/parsed_trace.h"
#include "tests/small_steps.h"
#include "trace/advice/advice.h"
#include "trace/advice/testing_rules.h"
#include "trace/report/report.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(AdviceRanks, AccumulationThatReducesEachTime) {
  const auto accumulating = [](bool each_time, bool updates_between) {
    TraceText text = one_step().rank(0, 2);
    for (int i = 0; i < 2; ++i) {
      const int64_t begin_ns = i * 50 * kMs;
      text.annotation("DistributedDataParallel.forward", begin_ns, begin_ns + 10 * kMs);
      if (updates_between) {
        text.annotation("Optimizer.step#SGD.step", begin_ns + 45 * kMs, begin_ns + 46 * kMs);
      }
      if (i == 0 && !each_time) continue;
      text.slice("user_annotation", "gloo:all_reduce", begin_ns + 20 * kMs, begin_ns + 40 * kMs,
                 {.tid = "2"});
    }
    return advice_on(text);
  };
  const auto findings = accumulating(true, false);
  EXPECT_THAT(findings, Contains(AllOf(Field(&Finding::rule, "accumulation_reduces"),
                                       Field(&Finding::detail, HasSubstr("no_sync()")))));
  EXPECT_THAT(accumulating(false, false), Not(HasRule("accumulation_reduces")));
  EXPECT_THAT(accumulating(true, true), Not(HasRule("accumulation_reduces")));
}

TEST(AdviceRanks, Communication) {
  const auto gloo = [](int64_t ns) {
    return one_step().rank(0, 2).slice("user_annotation", "gloo:all_reduce", 0, ns, {.tid = "2"});
  };
  EXPECT_THAT(advice_on(gloo(5 * kMs)), Not(HasRule("communication")));
  EXPECT_THAT(advice_on(gloo(30 * kMs)), HasRule("communication"));
}

TEST(AdviceRanks, WhetherARankWaitsForOthersIsAskedWhereOthersLack) {
  const auto detail = [](int world_size, int loaded) {
    std::vector<std::string> texts;
    for (int rank = 0; rank < loaded; ++rank) {
      TraceText text = one_step().rank(rank, world_size);
      text.slice("user_annotation", "gloo:all_reduce", 0, 30 * kMs, {.tid = "2"});
      texts.push_back(text.str());
    }
    return only(report_on(texts).findings, "communication").detail;
  };
  const std::string cure = "larger batches, or accumulation under no_sync(), make it rarer";
  const std::string doubt =
      "; or this rank waits for a later one: report on the traces of all ranks";
  EXPECT_EQ(detail(1, 1), cure);
  EXPECT_EQ(detail(2, 1), cure + doubt);
  EXPECT_EQ(detail(2, 2), cure);
  EXPECT_EQ(detail(8, 2), cure + doubt);
}

// As of a torch.profiler that began before the process group was there.
TEST(AdviceRanks, AGroupTellsThatOthersLackWhereTheJobHasNoSize) {
  const auto detail = [](const char* args, size_t loaded) {
    TraceText text = gpu_step(10 * kMs);
    text.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20 * kMs, 70 * kMs,
                on_stream(20, 0, args));
    const std::vector<std::string> texts(loaded, text.str());
    return only(report_on(texts).findings, "communication").detail;
  };
  EXPECT_THAT(detail(R"("Group size": 2)", 1), HasSubstr("waits for a later one"));
  EXPECT_THAT(detail(R"("Group size": 2)", 2), Not(HasSubstr("waits for a later one")));
  EXPECT_THAT(detail(R"("Group size": 1)", 1), Not(HasSubstr("waits for a later one")));
  EXPECT_THAT(detail(R"("x": 1)", 1), Not(HasSubstr("waits for a later one"))) << "nobody knows";
}

TEST(AdviceRanks, OnlyExposedCommunicationCanBeWon) {
  const auto findings =
      advice_on(one_step()
                    .rank(0, 2)
                    .cpu_op("aten::relu", 0, 20 * kMs)
                    .slice("user_annotation", "gloo:all_reduce", 0, 40 * kMs, {.tid = "2"}));
  ASSERT_THAT(findings, HasRule("communication"));
  EXPECT_DOUBLE_EQ(*findings[0].estimated_speedup, 1.25);
}

TEST(AdviceRanks, StragglerIsTheRankThatWaitsLeast) {
  const auto report_of = [](int64_t first_wait_ns, int64_t second_wait_ns,
                            const std::string& waits_in = "gloo:all_reduce",
                            const std::string& digest = "", bool is_marked = true) {
    std::vector<std::string> texts;
    int rank = 0;
    for (const int64_t wait_ns : {first_wait_ns, second_wait_ns}) {
      TraceText text = is_marked ? one_step() : TraceText().cpu_op("end", 100 * kMs, 100 * kMs + 1);
      text.rank(rank++, 2).cpu_op("aten::relu", 0, 100 * kMs - wait_ns);
      text.slice("user_annotation", waits_in, 100 * kMs - wait_ns, 100 * kMs, {.tid = "2"});
      text.cpu_op("c10d::recv_", 100 * kMs - wait_ns, 100 * kMs - wait_ns + 1000);
      text.top(R"("redline": {"batches_digest": ")" + digest + R"("})");
      texts.push_back(text.str());
    }
    return report_on(texts);
  };
  const Report skewed = report_of(30 * kMs, 5 * kMs);
  EXPECT_EQ(skewed.comparison->straggler, 1);
  EXPECT_EQ(skewed.comparison->skew_ns, 25 * kMs);
  ASSERT_THAT(skewed.findings, HasRule("straggler"));
  for (const Finding& finding : skewed.findings) {
    EXPECT_EQ(finding.trace, 1) << finding.rule;  // the rank that the others wait for
  }
  EXPECT_EQ(skewed.comparison->clocks.at(1)->offset_ns, 0);
  EXPECT_EQ(skewed.comparison->waits->ns[0][1], 25 * kMs);
  EXPECT_THAT(report_of(8 * kMs, 5 * kMs).findings, Not(HasRule("straggler")));
  const auto detail = [](const Report& report) {
    return std::ranges::find(report.findings, "straggler", &Finding::rule)->detail;
  };
  EXPECT_THAT(detail(skewed), HasSubstr("give each rank as much data"));
  EXPECT_THAT(detail(skewed), HasSubstr("25.0 % of the step"));
  EXPECT_THAT(detail(report_of(30 * kMs, 5 * kMs, "gloo:all_reduce", "", false)),
              HasSubstr(" of the recording"));
  EXPECT_THAT(detail(report_of(30 * kMs, 5 * kMs, "gloo:recv")),
              HasSubstr("if ranks are stages of a pipeline, give its stage fewer layers"));
  EXPECT_THAT(detail(report_of(30 * kMs, 5 * kMs, "gloo:all_reduce", "same")),
              HasSubstr("all ranks read the same samples, so look for what only this rank does"));
}

// The trace of the rank that is late does not say which rank it is of.
TEST(AdviceRanks, ATraceWithoutARankIsBlamedUnderANumberOfItsOwn) {
  const auto report_of = [](const std::vector<std::optional<int>>& ranks) {
    std::vector<std::string> texts;
    for (const auto rank : ranks) {
      const int64_t own_ns = rank ? 50 * kMs : 90 * kMs;
      TraceText text = one_step().cpu_op("aten::relu", 0, own_ns);
      if (rank) text.rank(*rank, 3);
      text.slice("user_annotation", "gloo:all_reduce", own_ns, 100 * kMs, {.tid = "2"});
      texts.push_back(text.str());
    }
    return report_on(texts);
  };
  const auto late = [](const Report& report) {
    return only(report.findings, "straggler").headline.substr(0, 14);
  };
  const Report three = report_of({0, 2, std::nullopt});
  EXPECT_EQ(late(three), "Rank 1 is late");
  EXPECT_EQ(three.findings.front().trace, 2);
  EXPECT_THAT(report_text(three, {}, {}),
              HasSubstr("rank 1 has the longest own work, 40.0 ms a step more"));
  EXPECT_THAT(report_json(three), HasSubstr("\"straggler\": {\n      \"rank\": 1,"));
  EXPECT_EQ(late(report_of({1, std::nullopt})), "Rank 0 is late");
  EXPECT_EQ(late(report_of({5, std::nullopt, 0})), "Rank 1 is late");
}

TEST(AdviceRanks, RanksThatWaitForNobodyHaveNoStraggler) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < 2; ++rank) {
    texts.push_back(TraceText()
                        .rank(rank, 2)
                        .step(0, 0, (1 + rank) * 50 * kMs)
                        .cpu_op("aten::relu", 0, (1 + rank) * 50 * kMs)
                        .str());
  }
  EXPECT_THAT(report_on(texts).findings, Not(HasRule("straggler")));
}

TEST(AdviceRanks, ManySmallCollectivesWantBuckets) {
  const auto reducing = [](int count, const char* name) {
    TraceText text = gpu_step(50 * kMs);
    for (int i = 0; i < count; ++i) {
      text.kernel(name, 60 * kMs + i * 100 * kUs, 60 * kMs + i * 100 * kUs + 90 * kUs,
                  on_stream(20));
    }
    return text;
  };
  const auto detail = [&](int count, const char* name) {
    return only(advice_on(reducing(count, name)), "communication").detail;
  };
  EXPECT_THAT(detail(200, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
              ::testing::HasSubstr("bucket_cap_mb"));
  EXPECT_THAT(detail(99, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
              ::testing::HasSubstr("no_sync"));
  EXPECT_THAT(detail(99, "ncclDevKernel_AllGather_RING_LL"),
              AllOf(HasSubstr("gather metrics"), Not(HasSubstr("prefetch"))));
  const auto knob = [&](const char* around) {
    return only(advice_on(reducing(200, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
                              .annotation(around, 0, kMs)),
                "communication")
        .knob;
  };
  EXPECT_EQ(knob("DistributedDataParallel.forward"), "bucket_cap_mb=5,25,100");
  EXPECT_EQ(knob("MyModel.forward"), "batch_size=1..4096") << "who has no DDP has no such knob";
}

TEST(AdviceRanks, CollectivesWithinForwardAreOfLayersThatAreSplit) {
  // Two layers forward and backward, of 10 ms each, and where each collective of 5 ms is launched.
  const auto calling = [](const std::vector<int>& at_ms, const std::vector<int>& gathers_at_ms = {},
                          bool has_fsdp = false) {
    TraceText text;
    text.top(gpu("A100", 8, 0)).step(0, 0, 100 * kMs);
    for (const int layer : {0, 1}) {
      text.cpu_op("aten::linear", (10 + 10 * layer) * kMs, (12 + 10 * layer) * kMs);
      text.cpu_op("autograd::engine::evaluate_function: AddmmBackward0", (30 + 10 * layer) * kMs,
                  (32 + 10 * layer) * kMs);
      text.cpu_op("aten::mm", (30 + 10 * layer) * kMs, (31 + 10 * layer) * kMs);
    }
    uint32_t id = 100;
    const auto call = [&](const char* kernel, int at) {
      text.runtime("cudaLaunchKernel", at * kMs, at * kMs + kUs, ++id);
      text.kernel(kernel, (at + 1) * kMs, (at + 6) * kMs, on_stream(20, id));
    };
    for (const int at : at_ms) {
      call(gathers_at_ms.empty() ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
                                 : "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL",
           at);
    }
    for (const int at : gathers_at_ms) call("ncclDevKernel_AllGather_RING_LL", at);
    if (has_fsdp) text.annotation("FSDP::all_gather (layers.0)", 10, 20);
    const auto findings = advice_on(text);
    const Finding& finding = only(findings, "communication");
    return finding.detail.substr(0, 60) + " [" + finding.knob + "]";
  };
  const std::string of_gradients =
      "larger batches, or accumulation under no_sync(), make it rar [batch_size=1..4096]";
  EXPECT_EQ(calling({15, 25, 35, 45}),
            "2 all-reduces a step within forward, as of tensor parallel l []");
  EXPECT_EQ(calling({15, 35, 45}),
            "1 all-reduces a step within forward, as of tensor parallel l []");
  EXPECT_EQ(calling({15, 35, 45, 55}), of_gradients) << "most are of gradients";
  EXPECT_EQ(calling({25, 35}), of_gradients) << "the mean of the loss";
  EXPECT_EQ(calling({5, 35, 45}), of_gradients) << "before the model";
  EXPECT_EQ(calling({55, 65}), of_gradients) << "after it";
  EXPECT_EQ(calling({15, 35}, {5, 25, 45}),
            "1 reduce-scatters a step within forward, as of sequence para []");
  const std::string of_shards = "prefetch the next shard (backward_prefetch, forward_prefetch [";
  EXPECT_EQ(calling({35, 45}, {5, 15, 25}), of_shards + "batch_size=1..4096]")
      << "gradients are scattered after backward";
  EXPECT_EQ(calling({15, 35}, {5, 25, 45}, true), of_shards + "]") << "FSDP says that it is there";
}

TEST(AdviceRanks, OnlyAShardedModelIsToldToPrefetchShards) {
  const auto detail = [](const char* beside) {
    return only(advice_on(gpu_step(50 * kMs)
                              .kernel("ncclDevKernel_AllGather_RING_LL", 60 * kMs, 80 * kMs,
                                      on_stream(20))
                              .kernel(beside, 80 * kMs, 95 * kMs, on_stream(20))),
                "communication")
        .detail;
  };
  EXPECT_THAT(detail("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), Not(HasSubstr("shard (")));
  EXPECT_THAT(detail("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL"), HasSubstr("next shard"));
  EXPECT_THAT(only(advice_on(gpu_step(50 * kMs)
                                 .annotation("FSDP::all_gather (layers.0)", 10, 20)
                                 .kernel("ncclDevKernel_AllGather_RING_LL", 60 * kMs, 95 * kMs,
                                         on_stream(20))),
                   "communication")
                  .detail,
              HasSubstr("next shard"));
}

// A single rank's NCCL launches no kernel.
TEST(AdviceRanks, WhatTheHostTakesToEnqueueACollectiveIsNoCommunication) {
  const auto advice = [](const char* collective) {
    return advice_on(gpu_step(50 * kMs).rank(0, 1).slice("user_annotation", collective, 60 * kMs,
                                                         90 * kMs, {.tid = "2"}));
  };
  EXPECT_THAT(advice("nccl:all_reduce"), Not(HasRule("communication")));
  EXPECT_THAT(advice("gloo:all_reduce"), HasRule("communication"));
}

// RCCL's kernels are all alike, and NCCL gathers by sending and receiving, too.
TEST(AdviceRanks, ExchangesAreToldByTheirKind) {
  const auto advice = [](const char* kernel, const char* kind, int count, int reductions = 0) {
    TraceText text = gpu_step(50 * kMs);
    for (int i = 0; i < count + reductions; ++i) {
      const char* name = i < count ? kind : "allreduce";
      const int64_t begin_ns = 50 * kMs + i * 2 * kMs;
      text.kernel(kernel, begin_ns, begin_ns + (i < count ? 1500 : 1600) * kUs,
                  on_stream(20, 0, fmt::format(R"("Collective name": "{}")", name)));
    }
    return advice_on(text);
  };
  const auto exchanges = advice("ncclDevKernel_Generic_1", "all_to_allv", 16, 5);
  const Finding& experts = only(exchanges, "communication");
  EXPECT_THAT(experts.detail, HasSubstr("16 exchanges a step, as of tokens between experts"));
  EXPECT_EQ(experts.knob, "");
  ASSERT_EQ(experts.events.size(), 5U);
  for (const EvidenceEvent& event : experts.events) {
    EXPECT_EQ(event.end_ns - event.begin_ns, 1500 * kUs) << "an all-reduce of the same name";
  }
  EXPECT_THAT(only(advice("ncclDevKernel_SendRecv", "_allgather_base", 4), "communication").detail,
              HasSubstr("most in all_gather"));
}

}  // namespace
}  // namespace redline::trace
