#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "tests/small_steps.h"
#include "trace/advice/advice.h"
#include "trace/advice/testing_rules.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(AdviceHost, TinyOperators) {
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

// Another process had the core, so in one step something stood still.
TEST(AdviceHost, AStallIsNoCostOfWhatStoodStill) {
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

TEST(AdviceHost, NothingIsSaidOfABusyGpu) { EXPECT_THAT(advice_on(gpu_step(99 * kMs)), IsEmpty()); }

TEST(AdviceHost, LowUtilization) {
  EXPECT_THAT(advice_on(gpu_step(40 * kMs)), HasRule("low_gpu_utilization"));
  EXPECT_THAT(advice_on(gpu_step(60 * kMs)), Not(HasRule("low_gpu_utilization")));
  // If another rule knows the cause, it names that instead.
  EXPECT_THAT(advice_on(gpu_step(40 * kMs).cpu_op("aten::relu", 0, 100 * kMs)),
              Not(HasRule("low_gpu_utilization")));
}

// As torch.profiler leaves it with activities=[CUDA].
TEST(AdviceHost, WithoutOperatorsNobodyKnowsWhatTheHostDid) {
  const auto text = TraceText()
                        .top(gpu("V100", 7, 0))
                        .slice("Trace", "PyTorch Profiler (0)", 0, 1000 * kMs, {.pid = "\"Spans\""})
                        .slice("overhead", "Buffer Flush", 900 * kMs, 950 * kMs, {.pid = "-1"})
                        .runtime("cudaLaunchKernel", 100 * kMs, 100 * kMs + kUs, 1)
                        .kernel("k", 100 * kMs + kUs, 120 * kMs, on_stream(7, 1))
                        .runtime("cudaLaunchKernel", 170 * kMs, 170 * kMs + kUs, 2)
                        .kernel("k", 170 * kMs, 180 * kMs + kUs, on_stream(7, 2));
  EXPECT_EQ(said(text, "low_gpu_utilization"), R"(low_gpu_utilization medium x ? []
GPU 0 runs kernels 37.5 % of the time
operators were not recorded, so nobody can tell what the host did meanwhile:
  record them, too (torch.profiler's ProfilerActivity.CPU)
utilization_share 0.374995, device 0
GPU idle 120000..170000 us
GPU idle 100000..100001 us
)");
}

TEST(AdviceHost, WhereStacksWereRecordedTheLongestGapIsNamed) {
  const auto detail = [](TraceText text) {
    return only(advice_on(text), "low_gpu_utilization").detail;
  };
  const auto running = [](const char* function) {
    return gpu_step(40 * kMs)
        .slice("python_function", "train.py(40): train", 0, 100 * kMs, {.tid = "77"})
        .slice("python_function", function, 45 * kMs, 95 * kMs);
  };
  EXPECT_EQ(detail(running("train.py(12): augment")),
            "in 60.0 ms a step no operator ran: Python between operators, or files, the longest in "
            "train.py(12): augment");
  EXPECT_EQ(detail(running("torch/nn/modules/module.py(1): _call_impl")),
            "in 60.0 ms a step no operator ran: Python between operators, or files")
      << "the other thread launches nothing";
  EXPECT_EQ(detail(running("f").slice("python_function", "a.py(1): g", 0, 69 * kMs)),
            "in 60.0 ms a step no operator ran: Python between operators, or files")
      << "less than half of the gap";
}

// "Command Buffer Full" is the driver's, "Buffer Flush" is CUPTI's.
TEST(AdviceHost, OverheadIsNotTakenForPython) {
  const auto low = [](int64_t end_ns) {
    return only(advice_on(gpu_step(40 * kMs).slice("overhead", "Command Buffer Full", 45 * kMs,
                                                   end_ns, {.pid = "-1"})),
                "low_gpu_utilization");
  };
  EXPECT_EQ(low(95 * kMs).detail,
            "in 50.0 ms a step the driver or the profiler itself was at work (\"Command Buffer "
            "Full\"): a run that is not recorded shows what is left of it");
  EXPECT_FALSE(low(95 * kMs).estimated_speedup);
  EXPECT_EQ(low(95 * kMs).knob, "");
  EXPECT_THAT(low(55 * kMs).detail, HasSubstr("in 50.0 ms a step no operator ran"));
  EXPECT_NEAR(*low(55 * kMs).estimated_speedup, 100 / (100 - 49.999), 1e-6);
}

// Lightning's optimizer.step(closure), profilers and record_function mark ranges in which Python
// may do whatever it likes.
TEST(AdviceHost, ARangeAroundPythonLaunchesNothing) {
  // Python until 90 ms, then 120 launches in 6 ms.
  const auto job = [](const char* range, int64_t end_ns = 100 * kMs, int64_t operator_ns = kUs) {
    TraceText text = gpu_step(0).annotation(range, kUs, end_ns);
    text.cpu_op("aten::sort", 2 * kUs, 2 * kUs + operator_ns);
    for (int i = 0; i < 120; ++i) {
      const auto id = static_cast<uint32_t>(i + 1);
      const int64_t at_ns = 90 * kMs + i * 50 * kUs;
      text.cpu_op("aten::mul", at_ns, at_ns + 10 * kUs);
      text.runtime("cudaLaunchKernel", at_ns + kUs, at_ns + 5 * kUs, id);
      text.kernel("k", at_ns + 10 * kUs, at_ns + 50 * kUs, on_stream(7, id));
    }
    return text;
  };
  for (const char* range : {"## forward ##", "Optimizer.step#AdamW.step"}) {
    const auto findings = advice_on(job(range));
    EXPECT_THAT(findings, Not(HasRule("launch_bound"))) << range;
    EXPECT_THAT(only(findings, "low_gpu_utilization").detail,
                HasSubstr(fmt::format("no operator ran: Python between operators, or files, the "
                                      "longest in \"{}\" (record --stacks shows it)",
                                      range)));
  }
  const auto closure =
      job("Optimizer.step#AdamW.step")
          .cpu_op("aten::linear", 97 * kMs, 98 * kMs, {.args = "\"Sequence number\": 7"})
          .cpu_op("AddmmBackward0", 98 * kMs, 99 * kMs);
  EXPECT_THAT(only(advice_on(closure), "low_gpu_utilization").detail,
              Not(HasSubstr("the longest in")));
  // A range of the program that range_without_operators names is not named twice.
  EXPECT_THAT(advice_on(job("load", 90 * kMs)),
              AllOf(HasRule("range_without_operators"), Not(HasRule("launch_bound")),
                    Not(HasRule("low_gpu_utilization"))));
  const auto mixed = advice_on(job("train", 100 * kMs, 40 * kMs));
  EXPECT_THAT(mixed, Not(HasRule("range_without_operators"))) << "operators run in 40 % of it";
  EXPECT_THAT(only(mixed, "low_gpu_utilization").detail, HasSubstr("the longest in \"train\""));
}

TEST(AdviceHost, TheStepInWhichARecordingEndedIsNoWorkOfTheHost) {
  const auto low = [](const char* name) {
    return only(advice_on(gpu_step(40 * kMs).annotation(name, 0, 100 * kMs)), "low_gpu_utilization")
        .detail;
  };
  EXPECT_EQ(low("unfinished ProfilerStep#1"), low("ProfilerStep#1"));
}

TEST(AdviceHost, LaunchBound) {
  const auto findings = advice_on(launches(900, 110 * kUs));
  const Finding& finding = only(findings, "launch_bound");
  EXPECT_NEAR(*finding.estimated_speedup, 100 / 45.0, 0.001);
  EXPECT_EQ(finding.headline, "Host-bound: the GPU waits 55.0 ms a step");
  EXPECT_EQ(finding.events.size(), 5);
  EXPECT_THAT(finding.detail, HasSubstr("a larger batch, torch.compile or CUDA graphs give"));
  for (const char* compiled : {"Torch-Compiled Region: 0/0", "CompiledFunction"}) {
    const auto of_compiled = advice_on(launches(900, 110 * kUs).cpu_op(compiled, 0, kMs));
    EXPECT_THAT(only(of_compiled, "launch_bound").detail,
                HasSubstr("or the CUDA graphs of torch.compile(mode=\"reduce-overhead\"), give"));
  }
  EXPECT_THAT(advice_on(launches(1800, 55 * kUs)), Not(HasRule("launch_bound")));
  EXPECT_THAT(advice_on(launches(50, 2 * kMs)), Not(HasRule("launch_bound")));
}

TEST(AdviceHost, WhereMemoryIsFullNoLargerBatchIsAdvised) {
  const auto launch_bound = [](const std::string& event) {
    return only(advice_on(launches(900, 110 * kUs).event(event)), "launch_bound");
  };
  const char* failed =
      R"({"ph": "i", "s": "t", "name": "[OutOfMemory]", "pid": 1, "tid": 1, "ts": 9, "args": {}})";
  for (const std::string& event : {holding(950), std::string(failed)}) {
    const Finding finding = launch_bound(event);
    EXPECT_EQ(finding.knob, "") << event;
    EXPECT_THAT(finding.detail, HasSubstr("each: torch.compile or CUDA graphs give the GPU more"));
  }
  EXPECT_EQ(launch_bound(holding(950, 759)).knob, "batch_size=1..4096") << "20 % of it is cached";
  EXPECT_THAT(launch_bound(holding(900)).detail, HasSubstr("a larger batch, torch.compile or"));
  EXPECT_THAT(advice_on(memory(300).event(failed)), Not(HasRule("memory_unused")));
  EXPECT_THAT(
      advice_on(
          one_step().top(R"("redline": {"inference": true, "samples_per_step": 1})").event(failed)),
      Not(HasRule("batch_of_one")));
  const auto reducing = gpu_step(50 * kMs).kernel(kReduce, 60 * kMs, 90 * kMs, on_stream(20));
  EXPECT_EQ(only(advice_on(TraceText(reducing).event(holding(950))), "communication").detail,
            "accumulation under no_sync() makes it rarer");
}

TEST(AdviceHost, WhoHasCudaGraphsIsNotToldOfThem) {
  const auto detail = [](int in_graph, int beside) {
    TraceText text = gpu_step(0).cpu_op("aten::relu", 0, 60 * kMs + 6 * kUs);
    const auto add = [&](const char* call, uint32_t number, int64_t at_ns, int kernels) {
      text.runtime(call, at_ns, at_ns + 5 * kUs, number);
      for (int i = 0; i < kernels; ++i) {
        const int64_t begin_ns = at_ns + (10 + i * 20) * kUs;
        text.kernel("k", begin_ns, begin_ns + 20 * kUs, on_stream(7, number));
      }
    };
    add("cudaGraphLaunch", 1, 60 * kMs, in_graph);
    for (int i = 0; i < beside; ++i) {
      add("cudaLaunchKernel", static_cast<uint32_t>(i) + 2, i * 100 * kUs, 1);
    }
    return only(advice_on(text), "launch_bound").detail;
  };
  EXPECT_EQ(detail(1000, 0),
            "1,000 kernels a step, most of them launched by CUDA graphs: the host's time passes "
            "outside of these. Put more of the step into them, or take a larger batch");
  EXPECT_THAT(detail(100, 200), HasSubstr("for 201 launches a step of 20.0 us each: "));
}

TEST(AdviceHost, ThreadsThatLaunchNothingDoNotHoldTheGpuBack) {
  const auto launch_bound = [](const Row& row) {
    TraceText text = gpu_step(0).slice("cpu_op", "aten::copy_", 30 * kMs, 90 * kMs, row);
    for (int i = 0; i < 100; ++i) {
      const auto id = static_cast<uint32_t>(i + 1);
      const int64_t at_ns = i * 200 * kUs;
      text.runtime("cudaLaunchKernel", at_ns, at_ns + 5 * kUs, id);
      text.kernel("k", at_ns + 10 * kUs, at_ns + 210 * kUs, on_stream(7, id));
    }
    return said(text, "launch_bound");
  };
  EXPECT_THAT(launch_bound({}), HasSubstr("60.0 ms of it in aten::copy_, in which no launch"));
  EXPECT_EQ(launch_bound({.tid = "77"}), "") << "as of a thread that saves a checkpoint";
  EXPECT_EQ(launch_bound({.tid = "77", .args = R"("finished": false)"}), "");
}

// A batch that the main thread collates from samples is dataloader_wait's.
TEST(AdviceHost, OperatorsOfALoaderDoNotHoldTheGpuBack) {
  TraceText text = launches(900, 110 * kUs).annotation(kSingle, 100 * kMs, 180 * kMs);
  text.cpu_op("aten::stack", 110 * kMs, 170 * kMs).step(1, 100 * kMs, 200 * kMs);
  EXPECT_THAT(only(advice_on(text), "launch_bound").detail, HasSubstr("launches a step of"));
}

TEST(AdviceHost, WhatIsRarerThanStepsIsNotZeroAStep) {
  TraceText text;
  text.top(gpu("V100", 7, 0));
  for (int i = 0; i < 4; ++i) {
    const auto id = static_cast<uint32_t>(i + 1);
    const int64_t begin_ns = i * 100 * kMs;
    text.step(i, begin_ns, begin_ns + 100 * kMs);
    text.runtime("cudaLaunchKernel", begin_ns, begin_ns + kUs, id);
    text.kernel("k", begin_ns + kUs, begin_ns + (i == 3 ? 50 : 100) * kMs, on_stream(7, id));
  }
  text.cpu_op("aten::item", 310 * kMs, 350 * kMs);
  text.runtime("cudaStreamSynchronize", 310 * kMs, 350 * kMs);
  text.kernel("nchwToNhwcKernel", 360 * kMs, 380 * kMs, on_stream(8));
  const auto findings = advice_on(text);
  EXPECT_THAT(only(findings, "synchronizing_calls").detail,
              HasSubstr("1 call in 4 steps, most in aten::item"));
  EXPECT_THAT(only(findings, "layout_transposes").detail,
              HasSubstr("1 kernel in 4 steps to turn NCHW into NHWC"));
}

TEST(AdviceHost, SynchronizingCalls) {
  // The host waits from 10 to 40 ms for a kernel, then needs until 60 ms to launch the next.
  const auto waiting = [](const char* call, int64_t next_launch_ns) {
    return gpu_step(40 * kMs)
        .cpu_op("aten::item", 10 * kMs, 41 * kMs)
        .runtime(call, 10 * kMs, 40 * kMs)
        .runtime("cudaLaunchKernel", next_launch_ns, next_launch_ns + kUs, 2)
        .kernel("k", std::max(next_launch_ns + 2 * kUs, 41 * kMs), 100 * kMs, on_stream(7, 2));
  };
  const auto findings = advice_on(waiting("cudaStreamSynchronize", 60 * kMs));
  const Finding& finding = only(findings, "synchronizing_calls");
  EXPECT_NEAR(*finding.estimated_speedup, 100 / 80.0, 0.001);
  EXPECT_THAT(finding.detail, ::testing::HasSubstr("aten::item"));
  EXPECT_THAT(finding.detail, ::testing::HasSubstr("total += loss.detach()"));
  EXPECT_THAT(finding.detail, Not(HasSubstr("the longest in")));
  EXPECT_EQ(finding.knob, "");
  const auto with_stacks =
      advice_on(waiting("cudaStreamSynchronize", 60 * kMs)
                    .slice("python_function", "train.py(7): main", 2 * kUs, 99 * kMs)
                    .slice("python_function", "train.py(42): log", 9 * kMs, 42 * kMs)
                    .slice("python_function", "torch/_tensor.py(5): item", 9 * kMs + 1, 42 * kMs));
  EXPECT_THAT(only(with_stacks, "synchronizing_calls").detail,
              HasSubstr("the longest in train.py(42): log: "));
  EXPECT_THAT(advice_on(waiting("cudaEventRecord", 60 * kMs)), Not(HasRule("synchronizing_calls")));
  // The next kernel was in the queue already, so the GPU lost nothing.
  EXPECT_THAT(advice_on(waiting("cudaStreamSynchronize", 5 * kMs)),
              Not(HasRule("synchronizing_calls")));
}

TEST(AdviceHost, ACopyAndTheWaitForItAreOneCall) {
  // The host reads from 10 ms on, and then needs until 60 ms to launch the next kernel.
  const auto waiting = [](const std::vector<std::pair<const char*, int64_t>>& calls,
                          const std::string& thread = "1") {
    TraceText text = gpu_step(40 * kMs).cpu_op("aten::item", 10 * kMs, 41 * kMs);
    uint32_t id = 5;
    int64_t at_ns = 11 * kMs;
    for (const auto& [name, length_ns] : calls) {
      text.slice("cuda_runtime", name, at_ns, at_ns + length_ns,
                 {.tid = thread, .correlation = ++id});
      at_ns += length_ns + kUs;
      if (std::string_view(name).find("Memcpy") == std::string_view::npos) continue;
      text.slice("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 40 * kMs + id * kUs,
                 40 * kMs + (id + 1) * kUs, on_stream(7, id));
    }
    text.runtime("cudaLaunchKernel", 60 * kMs, 60 * kMs + kUs, 2);
    return said(text.kernel("k", 60 * kMs + 2 * kUs, 100 * kMs, on_stream(7, 2)),
                "synchronizing_calls");
  };
  const std::pair copy("cudaMemcpyAsync", 10 * kUs), wait("cudaStreamSynchronize", 10 * kMs);
  EXPECT_THAT(waiting({copy, wait}),
              AllOf(HasSubstr("\n1 call a step, most in aten::item"), HasSubstr(", calls 1\n")));
  EXPECT_THAT(waiting({copy, wait, copy, wait}), HasSubstr("\n2 calls a step, "));
  EXPECT_THAT(waiting({wait, wait}), HasSubstr("\n2 calls a step, "));
  EXPECT_THAT(waiting({copy, copy, wait}), HasSubstr("\n2 calls a step, "));
  EXPECT_THAT(waiting({{"hipMemcpyWithStream", 20 * kMs}}), HasSubstr("\n1 call a step, "))
      << "it copies and waits";
  EXPECT_EQ(waiting({copy, wait}, "77"), "") << "as of a thread that saves a checkpoint";
}

// The batch comes when its worker has made it, so a host that waits for the GPU loses nothing.
TEST(AdviceHost, WorkersThatDoNotKeepUpAreNotWaitedForAnyLess) {
  const auto advice = [](const char* loader, int64_t wait_ns) {
    TraceText text;
    text.top(gpu("V100", 7, 0));
    for (int i = 0; i < 2; ++i) {
      const auto id = static_cast<uint32_t>(i + 1);
      const int64_t at_ns = i * 100 * kMs;
      text.step(i, at_ns, at_ns + 100 * kMs).annotation(loader, at_ns, at_ns + wait_ns);
      text.runtime("cudaLaunchKernel", at_ns + 38 * kMs, at_ns + 38 * kMs + kUs, id);
      text.kernel("k", at_ns + 38 * kMs + kUs, at_ns + 100 * kMs, on_stream(7, id));
      text.cpu_op("aten::item", at_ns + 40 * kMs, at_ns + 99 * kMs)
          .runtime("cudaStreamSynchronize", at_ns + 41 * kMs, at_ns + 98 * kMs);
    }
    return advice_on(text);
  };
  EXPECT_THAT(advice(kMulti, 30 * kMs),
              AllOf(HasRule("dataloader_wait"), Not(HasRule("synchronizing_calls"))));
  EXPECT_THAT(advice(kMulti, kMs / 2), HasRule("synchronizing_calls")) << "it was ready";
  EXPECT_THAT(advice(kSingle, 30 * kMs), HasRule("synchronizing_calls"));
}

// A wait of 29 ms in an operator, after which the GPU idles until 60 ms.
TraceText reading(const char* operator_name) {
  return gpu_step(40 * kMs)
      .cpu_op(operator_name, 10 * kMs, 41 * kMs)
      .runtime("cudaStreamSynchronize", 11 * kMs, 40 * kMs)
      .runtime("cudaLaunchKernel", 60 * kMs, 60 * kMs + kUs, 2)
      .kernel("k", 60 * kMs + 2 * kUs, 100 * kMs, on_stream(7, 2));
}

TEST(AdviceHost, TheCureOfAWaitIsForTheCodeThatWaits) {
  const auto detail = [](const char* operator_name, const char* function) {
    TraceText text = reading(operator_name);
    if (*function != '\0') text.slice("python_function", function, 9 * kMs, 42 * kMs);
    return only(advice_on(text), "synchronizing_calls").detail;
  };
  const std::string condition = "1 call a step, most in aten::is_nonzero";
  const std::string where = ": torch.where(condition, a, b) in place of an if on a tensor";
  EXPECT_EQ(detail("aten::is_nonzero", ""),
            condition + where + "; in the Trainer of transformers, logging_nan_inf_filter=False");
  EXPECT_EQ(detail("aten::is_nonzero", "train.py(4): f"),
            condition + ", the longest in train.py(4): f" + where);
  EXPECT_EQ(detail("aten::is_nonzero", "transformers/trainer.py(2503): train"),
            condition +
                ", the longest in transformers/trainer.py(2503): train: "
                "TrainingArguments(logging_nan_inf_filter=False) does not look for NaN in each "
                "step");
  for (const char* function : {"torchmetrics/metric.py(7): compute", "a-packages/b.py(7): c"}) {
    EXPECT_EQ(detail("aten::item", function),
              fmt::format("1 call a step, most in aten::item, the longest in {}", function))
        << "who trains does not write it";
  }
}

TEST(AdviceHost, TheWaitOfGradScalerIsNotThatOfALoss) {
  const auto is_scalers = [](const TraceText& text) {
    const std::string detail = only(advice_on(text), "synchronizing_calls").detail;
    EXPECT_THAT(detail, HasSubstr("most in aten::item: "));
    return detail.find("GradScaler reads whether gradients overflowed") != std::string::npos;
  };
  const auto checking = [](int64_t at_ns) {
    return reading("aten::item")
        .cpu_op("aten::_amp_foreach_non_finite_check_and_unscale_", at_ns, at_ns + kMs);
  };
  const char* update = "Optimizer.step#AdamW.step";
  const TraceText scaling = checking(5 * kMs).annotation(update, 50 * kMs, 70 * kMs);
  EXPECT_TRUE(is_scalers(scaling));
  EXPECT_TRUE(is_scalers(TraceText(scaling).annotation(update, 7 * kMs, 80 * kMs)))
      << "as of a wrapper that calls the scaler";
  EXPECT_FALSE(is_scalers(TraceText(scaling).cpu_op("aten::mm", 7 * kMs, 8 * kMs)))
      << "the next forward pass began before";
  EXPECT_FALSE(is_scalers(TraceText(scaling)
                              .cpu_op("aten::item", 43 * kMs, 46 * kMs)
                              .runtime("cudaStreamSynchronize", 44 * kMs, 45 * kMs)))
      << "the norm of the gradients was read, then the scaler's";
  EXPECT_FALSE(is_scalers(checking(5 * kMs))) << "no update follows";
  EXPECT_FALSE(is_scalers(checking(45 * kMs).annotation(update, 50 * kMs, 70 * kMs)));
}

TEST(AdviceHost, AWaitCannotWinMoreThanItsOwnTime) {
  const auto findings = advice_on(gpu_step(40 * kMs)
                                      .runtime("cudaDeviceSynchronize", 35 * kMs, 40 * kMs)
                                      .kernel("k", 90 * kMs, 100 * kMs, on_stream(7)));
  EXPECT_NEAR(*only(findings, "synchronizing_calls").estimated_speedup, 100 / 95.0, 0.001);
}

TEST(AdviceHost, CpuOversubscribed) {
  const auto stalled = [](int64_t launch_ns, bool gpu_is_busy) {
    return gpu_step(gpu_is_busy ? 99 * kMs : 40 * kMs)
        .runtime("cudaLaunchKernel", 50 * kMs, 50 * kMs + launch_ns, 2)
        .kernel("k", 50 * kMs + launch_ns, 100 * kMs, on_stream(8, 2));
  };
  EXPECT_THAT(advice_on(stalled(5 * kMs, false)), HasRule("cpu_oversubscribed"));
  EXPECT_THAT(advice_on(stalled(5 * kUs, false)), Not(HasRule("cpu_oversubscribed")));
  EXPECT_THAT(advice_on(stalled(5 * kMs, true)), Not(HasRule("cpu_oversubscribed")));
}

}  // namespace
}  // namespace redline::trace
