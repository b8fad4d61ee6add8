#include "trace/advice/advice.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_report.h"
#include "tests/parsed_trace.h"
#include "tests/small_steps.h"
#include "trace/advice/testing_rules.h"
#include "trace/report/report.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Advice, NothingIsSaidOfAStepThatHasNoProblem) {
  EXPECT_TRUE(advice_on(one_step().cpu_op("aten::relu", 0, 99 * kMs)).empty());
}

TEST(Advice, AFirstStepIsNotJudgedAsTraining) {
  const auto advice = [](int first, int64_t first_ns) {
    return advice_on(TraceText()
                         .step(first, 0, first_ns)
                         .step(first + 1, first_ns, first_ns + 10 * kMs)
                         .step(first + 2, first_ns + 10 * kMs, first_ns + 20 * kMs)
                         .cpu_op("aten::mm", 0, first_ns));
  };
  const auto cold = advice(0, 100 * kMs);
  ASSERT_EQ(cold.size(), 1);
  EXPECT_EQ(cold[0].rule, "startup_recorded");
  EXPECT_EQ(cold[0].headline, "Step 0 starts up: 100.0 ms, later steps 10.0 ms");
  EXPECT_THAT(advice(0, 12 * kMs), Not(HasRule("startup_recorded")));
  EXPECT_THAT(advice(5, 100 * kMs), Not(HasRule("startup_recorded"))) << "a slow step is no start";
}

TEST(Advice, WhatCompilesMostOfTheTimeIsNotJudgedAsTraining) {
  const auto advice = [](const char* range, int64_t ns) {
    return advice_on(
        TraceText().annotation(range, 0, ns).runtime("cudaLaunchKernel", 99 * kMs, 100 * kMs, 1));
  };
  const auto compiled = advice("XlaCompile:#module=jit_step#", 30 * kMs);
  ASSERT_EQ(compiled.size(), 1);
  EXPECT_EQ(compiled[0].headline, "A start-up, not training: 30.0 ms in a compiler");
  EXPECT_EQ(compiled[0].detail,
            "30.0 % of the trace is compilation, and no steps are marked: record later steps "
            "(--schedule wait=1,warmup=1,active=3)");
  EXPECT_THAT(advice("Scheduler.codegen (dynamo_timed)", 30 * kMs), HasRule("startup_recorded"));
  EXPECT_THAT(advice("XlaCompile:#module=jit_step#", 20 * kMs), Not(HasRule("startup_recorded")));
  EXPECT_THAT(advice("XlaModule:#jit_step#", 30 * kMs), Not(HasRule("startup_recorded")));
}

TEST(Advice, AProgramWithoutPyTorchIsToldNothingThatOnlyPyTorchHas) {
  const auto advice = [](const char* member, TraceText text) {
    return advice_on(text.top(fmt::format(R"("redline": {{"version": "0.1.0"}}, {})", member)));
  };
  const char* none = R"("cupti_version": 1)";
  const char* torch = R"("torch": {"version": "2.11.0", "python": "3.11.7"})";
  const char* libtorch = R"("torch": {"version": "2.11.0"})";
  for (const TraceText& text : {launches(200, 500 * kUs), gpu_step(40 * kMs)}) {
    const auto findings = advice(none, text);
    ASSERT_EQ(findings.size(), 1);
    EXPECT_EQ(findings[0].knob, "");
    EXPECT_THAT(findings[0].detail, Not(HasSubstr("torch")));
    EXPECT_THAT(findings[0].detail, Not(HasSubstr("--stacks")));
    EXPECT_THAT(advice(torch, text), Contains(Field(&Finding::knob, "batch_size=1..4096")));
    EXPECT_THAT(advice(libtorch, text), Each(Field(&Finding::knob, ""))) << "no hook is there";
  }
  const auto fp32 = gpu_step(64 * kMs, "ampere_sgemm", gpu("it", 8, 0));
  EXPECT_THAT(advice(torch, fp32), HasRule("tf32_off"));
  EXPECT_THAT(advice(libtorch, fp32), HasRule("tf32_off"));
  EXPECT_THAT(advice(none, fp32), Not(HasRule("tf32_off")));
}

TEST(Advice, InferenceOfOneSampleAtATimeIsToldOfBatches) {
  const auto advice = [](const char* redline) {
    return advice_on(one_step().rank(0, 2).top(fmt::format(R"("redline": {{{}}})", redline)));
  };
  const auto findings = advice(R"("inference": true, "samples_per_step": 2)");
  ASSERT_THAT(findings, HasRule("batch_of_one"));
  EXPECT_EQ(findings[0].knob, "batch_size=1..16");
  EXPECT_THAT(advice(R"("inference": true, "samples_per_step": 4)"), Not(HasRule("batch_of_one")));
  EXPECT_THAT(advice(R"("samples_per_step": 2)"), Not(HasRule("batch_of_one")));
}

TEST(Advice, AJobWithoutADataLoaderIsToldToNameTheBatchSizeInItsCommand) {
  const auto needs = [](const TraceText& text) {
    const Finding finding = only(advice_on(text), "batch_of_one");
    EXPECT_EQ(trial_of(finding), "autotune --knob batch_size=1..16") << "can be pasted";
    return needs_of(finding);
  };
  auto inference =
      one_step().rank(0, 1).top(R"("redline": {"inference": true, "samples_per_step": 1})");
  EXPECT_EQ(needs(inference), "") << "no operators, so nothing is known of a DataLoader";
  inference.cpu_op("aten::relu", 0, 99 * kMs);
  EXPECT_EQ(needs(inference), "with {batch_size} in the command");
  // Outside the step, as where a batch is fetched before the step's mark.
  inference.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 200 * kMs,
                       kMs);
  EXPECT_EQ(needs(inference), "");
}

TEST(Advice, DataLoaderWait) {
  const auto wait = [](int64_t ns) {
    return one_step().annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0,
                                 ns);
  };
  EXPECT_THAT(advice_on(wait(5 * kMs)), Not(HasRule("dataloader_wait")));
  const auto findings = advice_on(wait(20 * kMs));
  ASSERT_THAT(findings, HasRule("dataloader_wait"));
  EXPECT_DOUBLE_EQ(*findings[0].estimated_speedup, 1.25);
  EXPECT_EQ(findings[0].severity, Severity::kHigh);
  EXPECT_EQ(findings[0].knob, "num_workers=0..4");
  EXPECT_EQ(findings[0].headline, "DataLoader: training waits 20.0 ms a step");
  ASSERT_EQ(findings[0].events.size(), 1);
  EXPECT_EQ(findings[0].events[0].name,
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  EXPECT_EQ(findings[0].events[0].end_ns - findings[0].events[0].begin_ns, 20 * kMs);
}

TEST(Advice, OfSeveralLoadersTheOneThatTakesLongerCounts) {
  const auto detail = [](int64_t of_workers_ns, int64_t of_none_ns) {
    return advice_on(
               one_step()
                   .annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0,
                               of_workers_ns)
                   .annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                               50 * kMs, 50 * kMs + of_none_ns))
        .at(0);
  };
  EXPECT_THAT(detail(20 * kMs, kMs).detail, HasSubstr("the workers do not keep up"));
  EXPECT_EQ(detail(20 * kMs, kMs).events.size(), 1U);
  EXPECT_THAT(detail(kMs, 20 * kMs).detail, HasSubstr("num_workers is 0"));
  EXPECT_EQ(detail(kMs, 20 * kMs).events.size(), 1U);
}

TEST(Advice, OfATraceWithoutMarkedStepsSpeaksOfNone) {
  const auto findings = advice_on(
      TraceText()
          .cpu_op("aten::relu", 0, kMs)
          .annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", kMs, 21 * kMs)
          .cpu_op("aten::relu", 21 * kMs, 100 * kMs));
  ASSERT_THAT(findings, HasRule("dataloader_wait"));
  EXPECT_EQ(findings[0].headline, "DataLoader: training waits 20.0 ms");
}

TEST(Advice, DataLoaderWaitTellsWhatTheWorkersDo) {
  const auto detail_with = [](const std::string& worker, const std::string& cores) {
    const auto counter = [](const std::string& track, const std::string& value) {
      return R"({"ph": "C", "cat": "counter", "pid": 1, "tid": 0, "ts": 5, "name": ")" + track +
             R"(", "args": {"busy %": )" + value + "}}";
    };
    TraceText text = one_step().annotation(
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 20 * kMs);
    if (!worker.empty()) text.event(counter("DataLoader worker 7", worker));
    text.event(counter("CPU 0", "50")).event(counter("CPU", cores));
    return advice_on(text).at(0).detail;
  };
  EXPECT_THAT(detail_with("", "10"), HasSubstr("do not keep up"));
  EXPECT_THAT(detail_with("70", "10"), HasSubstr("do not keep up"));
  EXPECT_EQ(detail_with("97", "60"), "the workers are busy 97.0 % of the time: use more workers");
  EXPECT_EQ(
      detail_with("97", "99"),
      "all cores are busy 99.0 % of the time, and each worker has 97.0 % of one: less work for "
      "each sample");
  EXPECT_EQ(detail_with("40", "60"),
            "the workers compute 40.0 % of the time and wait for the rest, for instance for the "
            "disk: use more workers");
}

TEST(Advice, WorkersAreAsManyAsTheMachineHasCores) {
  const auto knob = [](int cores) {
    return advice_on(one_step()
                         .top(fmt::format(R"("run": {{"machine": {{"usable_cores": {}}}}})", cores))
                         .annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                                     0, 20 * kMs))
        .at(0)
        .knob;
  };
  EXPECT_EQ(knob(2), "num_workers=0..2");
  EXPECT_EQ(knob(64), "num_workers=0..16");
}

TEST(Advice, WorkersAreNoCureOfBatchesThatAreMadeAtOnce) {
  const auto of = [](int64_t first_ns, int64_t second_ns) {
    return only(advice_on(TraceText()
                              .step(0, 0, 10 * kMs)
                              .annotation(kSingle, 0, first_ns)
                              .annotation(kSingle, 5 * kMs, 5 * kMs + second_ns)),
                "dataloader_wait");
  };
  EXPECT_EQ(of(400 * kUs, 600 * kUs).knob, "num_workers=0..4");
  EXPECT_EQ(of(400 * kUs, 600 * kUs - 2).knob, "batch_size=1..4096");
  TraceText stalled;
  for (int step = 5; step < 8; ++step) {
    const int64_t begin_ns = step * 2 * kMs;
    stalled.step(step, begin_ns, begin_ns + 2 * kMs)
        .annotation(kSingle, begin_ns, begin_ns + (step < 7 ? 200 : 1800) * kUs);
  }
  EXPECT_THAT(only(advice_on(stalled), "dataloader_wait").detail,
              HasSubstr("a batch takes 333.3 us"))
      << "the last one counts for three";
}

TEST(Advice, BatchesAreFromTheRecordedOneOn) {
  const auto knob = [](const std::string& top) {
    TraceText text = one_step().rank(0, 2).slice("user_annotation", "gloo:all_reduce", 0, 30 * kMs,
                                                 {.tid = "2"});
    if (!top.empty()) text.top(top);
    return advice_on(text).at(0).knob;
  };
  EXPECT_EQ(knob(R"("redline": {"samples_per_step": 48})"), "batch_size=24..512");
  EXPECT_EQ(knob(""), "batch_size=1..4096");
}

TEST(Advice, WaitsWhereAnEpochBegins) {
  const auto knob = [](int64_t first_ns, int64_t other_ns) {
    TraceText text = one_step();
    for (int i = 0; i < 10; ++i) {
      const int64_t begin_ns = i * 10 * kMs;
      text.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", begin_ns,
                      begin_ns + (i == 4 ? first_ns : other_ns));
    }
    return advice_on(text).at(0).knob;
  };
  EXPECT_EQ(knob(9 * kMs, kMs / 20), "persistent_workers=off,on");
  EXPECT_EQ(knob(2 * kMs, 2 * kMs), "num_workers=0..4");
}

TEST(Advice, AccumulationThatReducesEachTime) {
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

TEST(Advice, Communication) {
  const auto gloo = [](int64_t ns) {
    return one_step().rank(0, 2).slice("user_annotation", "gloo:all_reduce", 0, ns, {.tid = "2"});
  };
  EXPECT_THAT(advice_on(gloo(5 * kMs)), Not(HasRule("communication")));
  EXPECT_THAT(advice_on(gloo(30 * kMs)), HasRule("communication"));
}

TEST(Advice, WhetherARankWaitsForOthersIsAskedWhereOthersLack) {
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

TEST(Advice, OnlyExposedCommunicationCanBeWon) {
  const auto findings =
      advice_on(one_step()
                    .rank(0, 2)
                    .cpu_op("aten::relu", 0, 20 * kMs)
                    .slice("user_annotation", "gloo:all_reduce", 0, 40 * kMs, {.tid = "2"}));
  ASSERT_THAT(findings, HasRule("communication"));
  EXPECT_DOUBLE_EQ(*findings[0].estimated_speedup, 1.25);
}

TEST(Advice, WithoutRecordsOfTheGpuIsOnTheHostAlone) {
  const auto job = [](bool uses_gpu) {
    TraceText text = operators(1200, 15 * kUs).cpu_op("aten::mm", 61 * kMs, 90 * kMs);
    text.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 90 * kMs,
                    100 * kMs);
    if (uses_gpu) text.runtime("cudaLaunchKernel", 60 * kMs, 64 * kMs, 1);
    return text;
  };
  EXPECT_THAT(advice_on(job(false)),
              AllOf(HasRule("dataloader_wait"), HasRule("tiny_operators"),
                    HasRule("float32_matrix_work"), Not(HasRule("cpu_oversubscribed"))));
  const auto findings = advice_on(job(true));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings, HasRule("dataloader_wait"));
}

TEST(Advice, AShareIsOfTheStepOnlyWhereStepsAreMarked) {
  const auto detail = [](TraceText text) {
    return advice_on(text.cpu_op("aten::relu", 0, 50 * kMs)
                         .annotation(kSingle, 50 * kMs, 99 * kMs)
                         .cpu_op("aten::relu", 99 * kMs, 100 * kMs))
        .at(0)
        .detail;
  };
  EXPECT_THAT(detail(one_step()), HasSubstr("49.0 % of the step"));
  EXPECT_THAT(detail(TraceText()), HasSubstr("49.0 % of the recording"));
}

TEST(Advice, TinyOperators) {
  const auto many = [](int count, int64_t length_ns, const char* around) {
    TraceText text = one_step();
    if (*around != '\0') text.annotation(around, 0, 90 * kMs);
    for (int i = 0; i < count; ++i) {
      text.cpu_op("aten::add", i * 50'000, i * 50'000 + length_ns);
    }
    return text;
  };
  EXPECT_THAT(advice_on(many(1500, 15'000, "")), HasRule("tiny_operators"));
  EXPECT_THAT(advice_on(many(100, 15'000, "")), Not(HasRule("tiny_operators")));
  EXPECT_THAT(advice_on(many(1500, 30'000, "")), Not(HasRule("tiny_operators")));
  EXPECT_THAT(advice_on(many(1500, 15'000, "enumerate(DataLoader)#_Iter.__next__")),
              Not(HasRule("tiny_operators")));
}

TEST(Advice, PageFaultsWhereTheCLibraryMayKeepWhatIsFreed) {
  const auto with = [](const char* run) { return faulting(1'000'000, 20, 100, run); };
  const auto named = HasRule("page_faults");
  EXPECT_THAT(advice_on(with(R"("malloc": "libc.so.6", "environment": {"RANK": "0"})")), named);
  for (const char* run :
       {R"("malloc": "libjemalloc.so.2", "environment": {})", R"("environment": {})",
        R"("malloc": "libc.so.6", "environment": {"MALLOC_TRIM_THRESHOLD_": "2147483647"})"}) {
    EXPECT_THAT(advice_on(with(run)), Not(named)) << run;
  }
  for (const auto& [version, threshold] :
       {std::pair("2.31", "=33554432 "), {"2.34", "=33554432 "}, {"2.35", "=1073741824 "}}) {
    const std::string run = fmt::format(R"("malloc": "libc.so.6", "glibc": "{}")", version);
    EXPECT_THAT(only(advice_on(with(run.c_str())), "page_faults").detail, HasSubstr(threshold));
  }
  EXPECT_THAT(advice_on(faulting(1'000'000, 20).top(gpu("V100", 7, 0)).kernel("k", 0, kMs)),
              Not(named));
  EXPECT_THAT(advice_on(faulting(1'000'000, 0, 0)), Not(named));
}

TEST(Advice, ARangeOfTheProgramThatRunsNoOperators) {
  const auto range = [](const char* name, int64_t ns = 60 * kMs) {
    return one_step().annotation(name, 0, ns).cpu_op("aten::relu", 60 * kMs, 99 * kMs);
  };
  const auto named = HasRule("range_without_operators");
  EXPECT_THAT(advice_on(range("load batch")), named);
  EXPECT_THAT(advice_on(range("a").annotation("read", kMs, 59 * kMs)), named);
  EXPECT_THAT(advice_on(range("load").slice("python_function", "a.py(3): f", 0, 60 * kMs)), named);
  for (const char* of_others :
       {"Torch-Compiled Region: 0/0", "TorchDynamo Cache Lookup", "## forward ##", "FSDP::unshard",
        "[pl][profile]run_training_batch", "DistributedDataParallel.forward", "gloo:barrier",
        "enumerate(DataLoader)#_Iter.__next__", "Optimizer.step#SGD.step", "ncclAllReduce"}) {
    EXPECT_THAT(advice_on(range(of_others)), Not(named)) << of_others;
  }
  // Who asked for no operators sees none in any range.
  EXPECT_THAT(advice_on(one_step().annotation("load batch", 0, 60 * kMs)), Not(named));
  // Operators run in a range, though not all the time, or on a thread that the range waits for.
  EXPECT_THAT(advice_on(range("forward", 99 * kMs)), Not(named));
  EXPECT_THAT(advice_on(range("backward").cpu_op("aten::mm", kMs, 59 * kMs, {.tid = "2"})),
              Not(named));
}

TEST(Advice, Float32MatrixWork) {
  const auto mm = [](int64_t ns) { return one_step().cpu_op("aten::mm", 0, ns); };
  EXPECT_THAT(advice_on(mm(50 * kMs)), Contains(AllOf(Field(&Finding::rule, "float32_matrix_work"),
                                                      Field(&Finding::knob, "amp=off,bf16"))));
  EXPECT_THAT(advice_on(mm(10 * kMs)), Not(HasRule("float32_matrix_work")));
  EXPECT_THAT(advice_on(mm(10 * kMs)
                            .cpu_op("aten::mkldnn_rnn_layer", 10 * kMs, 16 * kMs)
                            .cpu_op("aten::mkldnn_rnn_layer_backward", 16 * kMs, 22 * kMs)),
              Contains(Field(&Finding::headline, "No autocast: 22.0 ms a step in matrix work")));
  EXPECT_THAT(advice_on(mm(50 * kMs).cpu_op("ToCopyBackward0", 60 * kMs, 61 * kMs)),
              Not(HasRule("float32_matrix_work")));
}

TEST(Advice, Bf16IsOnlyForProcessorsAndJobsThatGainFromIt) {
  const auto found = [](const char* recorded, const char* types = "") {
    TraceText text = one_step();
    const std::string args =
        fmt::format(R"("Input Dims": [[64, 64], [64, 64]], "Input type": [{}])", types);
    text.cpu_op("aten::mm", 0, 50 * kMs, {.args = *types == '\0' ? "" : args});
    if (*recorded != '\0') text.top(recorded);
    return advice_on(text);
  };
  const auto said = HasRule("float32_matrix_work");
  EXPECT_THAT(found(R"("run": {"machine": {"bf16": true}})"),
              Contains(Field(&Finding::detail, HasSubstr("this CPU has instructions for bf16"))));
  EXPECT_THAT(found(R"("run": {"machine": {"bf16": false}})"), Not(said));
  EXPECT_THAT(found(R"("torch": {"autocast": {"cpu": "bfloat16"}})"), Not(said));
  EXPECT_THAT(found(R"("torch": {"autocast": {"cuda": "float16"}})"), said);
  EXPECT_THAT(found(R"("torch": {"parameters": {"float32": 90, "bfloat16": 10}})"), said);
  EXPECT_THAT(found(R"("torch": {"parameters": {"float32": 10, "bfloat16": 90}})"), Not(said));
  EXPECT_THAT(found(R"("torch": {"parameters": [1], "autocast": 2}, "run": {"machine": 3})"), said);
  EXPECT_THAT(found("", R"("float", "float")"), said);
  EXPECT_THAT(found("", R"("double", "double")"), Not(said));
}

// Another process had the core, so in one step something stood still.
TEST(Advice, AStallIsNoCostOfWhatStoodStill) {
  const auto steps = [](int64_t others_ns, int64_t last_ns) {
    TraceText text;
    for (int step = 5; step < 8; ++step) {
      const int64_t begin_ns = step * 100 * kMs;
      const int64_t end_ns = begin_ns + (step < 7 ? others_ns : last_ns);
      text.step(step, begin_ns, begin_ns + 100 * kMs).cpu_op("aten::mm", begin_ns, end_ns);
    }
    return advice_on(text);
  };
  // The last of the three counts for three times the median.
  const auto product = only(steps(20 * kMs, 80 * kMs), "float32_matrix_work");
  EXPECT_EQ(product.headline, "No autocast: 33.3 ms a step in matrix work");
  EXPECT_DOUBLE_EQ(*product.estimated_speedup, 1.5);
  EXPECT_THAT(steps(5 * kMs, 80 * kMs), Not(HasRule("float32_matrix_work")));
}

TEST(Advice, AStallOfTheOptimizerIsNoWorkOfIt) {
  const auto steps = [](int64_t last_ns) {
    TraceText text;
    for (int step = 5; step < 8; ++step) {
      const int64_t begin_ns = step * 100 * kMs;
      text.step(step, begin_ns, begin_ns + 100 * kMs);
      text.annotation("Optimizer.step#AdamW.step", begin_ns,
                      begin_ns + (step < 7 ? 10 * kMs : last_ns));
      for (int i = 0; i < 100; ++i) {
        text.cpu_op("aten::mul_", begin_ns + i * kMs / 10, begin_ns + i * kMs / 10 + kMs / 20);
      }
    }
    return only(advice_on(text), "optimizer_per_parameter").headline;
  };
  EXPECT_EQ(steps(10 * kMs), "Optimizer: 10.0 ms a step, one tensor at a time");
  EXPECT_EQ(steps(70 * kMs), "Optimizer: 16.7 ms a step, one tensor at a time");
}

TEST(Advice, AStallWithinALoaderIsNoCostOfItsBatches) {
  const auto steps = [](const char* name) {
    TraceText text;
    for (int step = 5; step < 8; ++step) {
      const int64_t begin_ns = step * 100 * kMs;
      text.step(step, begin_ns, begin_ns + 100 * kMs);
      text.annotation(name, begin_ns, begin_ns + (step < 7 ? 2 : 90) * kMs);
    }
    return advice_on(text);
  };
  // Of workers' batches some may be ready in a row, so a long wait may come again.
  EXPECT_THAT(steps(kMulti), HasRule("dataloader_wait"));
  EXPECT_THAT(steps(kSingle), Not(HasRule("dataloader_wait"))) << "one of three was collected in";
}

TEST(Advice, OptimizerPerParameter) {
  const auto optimizer = [](int operators, const char* name) {
    TraceText text = one_step().annotation("Optimizer.step#AdamW.step", 50 * kMs, 70 * kMs);
    for (int i = 0; i < operators; ++i) {
      text.cpu_op(name, 50 * kMs + i * 100'000, 50 * kMs + i * 100'000 + 90'000);
    }
    return text;
  };
  EXPECT_THAT(advice_on(optimizer(100, "aten::mul_")), HasRule("optimizer_per_parameter"));
  EXPECT_THAT(advice_on(optimizer(10, "aten::mul_")), Not(HasRule("optimizer_per_parameter")));
  EXPECT_THAT(advice_on(optimizer(100, "aten::_foreach_mul_")),
              Not(HasRule("optimizer_per_parameter")));
}

TEST(Advice, OptimizersAreToldWhatTheyCanDo) {
  const auto advice = [](const std::string& name, bool on_gpu = true) {
    TraceText text = one_step().annotation("Optimizer.step#" + name, 50 * kMs, 70 * kMs);
    for (int i = 0; i < 100; ++i) {
      text.cpu_op("aten::mul_", 50 * kMs + i * 100'000, 50 * kMs + i * 100'000 + 90'000);
    }
    if (on_gpu) text.kernel("relu_kernel", 10 * kMs, 20 * kMs);
    return advice_on(text);
  };
  const auto cure = [](const std::string& text, const std::string& knob) {
    return Contains(AllOf(Field(&Finding::rule, "optimizer_per_parameter"),
                          Field(&Finding::detail, HasSubstr(text)), Field(&Finding::knob, knob)));
  };
  EXPECT_THAT(advice("SGD.step"),
              cure("fused=True, or foreach=True", "optimizer=default,foreach,fused"));
  EXPECT_THAT(advice("RMSprop.step"),
              cure("give the optimizer foreach=True", "optimizer=default,foreach"));
  EXPECT_THAT(advice("Lion.step"), cure("torch._foreach_add_ and its like in Lion", ""));
  for (const char* name : {"LBFGS.step", "Muon.step"})
    EXPECT_THAT(advice(name), Not(HasRule("optimizer_per_parameter"))) << name;
  // On a CPU foreach saves no launches (docs/guide/optimizers.md has the figures).
  EXPECT_THAT(advice("SGD.step", false),
              cure("give the optimizer fused=True", "optimizer=default,fused"));
  EXPECT_THAT(advice("RMSprop.step", false), Not(HasRule("optimizer_per_parameter")));
}

// No call takes the products of many tensors. Those of Adafactor tell whose it is, too.
TEST(Advice, ProductsOfAnOptimizerStay) {
  const auto finding = [](const char* other) {
    TraceText text = one_step().annotation("Optimizer.step#Adafactor.step", 50 * kMs, 70 * kMs);
    for (int i = 0; i < 100; ++i) {
      const int64_t at_ns = 50 * kMs + i * 200 * kUs;
      text.cpu_op("aten::mul_", at_ns, at_ns + 90 * kUs);
      text.cpu_op(other, at_ns + 100 * kUs, at_ns + 190 * kUs);
    }
    text.runtime("cudaLaunchKernel", 50 * kMs + 110 * kUs, 50 * kMs + 112 * kUs, 5)
        .kernel("k", 80 * kMs, 90 * kMs, on_stream(7, 5));
    return only(advice_on(text), "optimizer_per_parameter");
  };
  const Finding ours = finding("aten::matmul"), theirs = finding("aten::add_");
  EXPECT_EQ(ours.headline, "Optimizer: 11.0 ms a step, one tensor at a time");
  EXPECT_EQ(ours.detail, "100 operators a step, 11.0 % of it: give the optimizer foreach=True");
  EXPECT_EQ(ours.knob, "optimizer=default,foreach");
  EXPECT_EQ(theirs.headline, "Optimizer: 30.0 ms a step, one tensor at a time");
  EXPECT_EQ(theirs.detail,
            "200 operators a step, 30.0 % of it: torch.optim.Adafactor takes foreach=True, "
            "transformers' and timm's do not");
  EXPECT_EQ(theirs.knob, "");
}

TEST(Advice, WhatAClosureDoesIsNoUpdate) {
  const auto with_closure = [](int updates) {
    TraceText text = one_step().annotation("Optimizer.step#AdamW.step", 0, 90 * kMs);
    for (int i = 0; i < 100; ++i) {
      const int64_t begin_ns = i * 400'000;
      text.cpu_op("aten::linear", begin_ns, begin_ns + 390'000, {.args = "\"Sequence number\": 7"});
    }
    text.cpu_op("AddmmBackward0", 40 * kMs, 70 * kMs);
    for (int i = 0; i < updates; ++i) {
      text.cpu_op("aten::mul_", 70 * kMs + i * 100'000, 70 * kMs + i * 100'000 + 90'000);
    }
    return text;
  };
  EXPECT_THAT(advice_on(with_closure(10)), Not(HasRule("optimizer_per_parameter")));
  const auto findings = advice_on(with_closure(100));
  EXPECT_THAT(findings,
              Contains(AllOf(Field(&Finding::rule, "optimizer_per_parameter"),
                             Field(&Finding::headline, HasSubstr("20.0 ms a step")),
                             Field(&Finding::detail, HasSubstr("100 operators a step")))));
}

TEST(Advice, StragglerIsTheRankThatWaitsLeast) {
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
TEST(Advice, ATraceWithoutARankIsBlamedUnderANumberOfItsOwn) {
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

TEST(Advice, RanksThatWaitForNobodyHaveNoStraggler) {
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

}  // namespace
}  // namespace redline::trace
