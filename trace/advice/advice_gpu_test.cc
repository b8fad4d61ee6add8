#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "tests/small_steps.h"
#include "trace/advice/advice.h"
#include "trace/advice/testing_rules.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(AdviceGpu, NothingIsSaidOfABusyGpu) { EXPECT_THAT(advice_on(gpu_step(99 * kMs)), IsEmpty()); }

TEST(AdviceGpu, LowUtilization) {
  EXPECT_THAT(advice_on(gpu_step(40 * kMs)), HasRule("low_gpu_utilization"));
  EXPECT_THAT(advice_on(gpu_step(60 * kMs)), Not(HasRule("low_gpu_utilization")));
  // If another rule knows the cause, it names that instead.
  EXPECT_THAT(advice_on(gpu_step(40 * kMs).cpu_op("aten::relu", 0, 100 * kMs)),
              Not(HasRule("low_gpu_utilization")));
}

// As torch.profiler leaves it with activities=[CUDA].
TEST(AdviceGpu, WithoutOperatorsNobodyKnowsWhatTheHostDid) {
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

TEST(AdviceGpu, WhereStacksWereRecordedTheLongestGapIsNamed) {
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
TEST(AdviceGpu, OverheadIsNotTakenForPython) {
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
TEST(AdviceGpu, ARangeAroundPythonLaunchesNothing) {
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

TEST(AdviceGpu, TheStepInWhichARecordingEndedIsNoWorkOfTheHost) {
  const auto low = [](const char* name) {
    return only(advice_on(gpu_step(40 * kMs).annotation(name, 0, 100 * kMs)), "low_gpu_utilization")
        .detail;
  };
  EXPECT_EQ(low("unfinished ProfilerStep#1"), low("ProfilerStep#1"));
}

TEST(AdviceGpu, TensorCoresUnused) {
  const auto rules = [](const char* kernel) { return advice_on(gpu_step(60 * kMs, kernel)); };
  const auto findings = rules("volta_sgemm_128x64_nn");
  const Finding& finding = only(findings, "tensor_cores_unused");
  // A V100 does 8 times as many products in fp16, so 52.5 of the 60 ms can be saved.
  EXPECT_NEAR(*finding.estimated_speedup, 100 / 47.5, 1e-9);
  EXPECT_EQ(finding.knob, "amp=off,fp16");
  EXPECT_EQ(finding.events[0].name, "volta_sgemm_128x64_nn");
  EXPECT_THAT(rules("volta_fp16_s884gemm"), Not(HasRule("tensor_cores_unused")));
  EXPECT_THAT(rules("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_cublas"),
              Not(HasRule("tensor_cores_unused")));
  EXPECT_THAT(rules("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_"
                    "warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas"),
              HasRule("tensor_cores_unused"));
  EXPECT_THAT(rules("elementwise_kernel"), Not(HasRule("tensor_cores_unused")));
  EXPECT_THAT(rules("fbgemm_gpu::permute_kernel"), Not(HasRule("tensor_cores_unused")));
  EXPECT_THAT(advice_on(gpu_step(60 * kMs, "sgemm", gpu("P100", 6, 0))),
              Not(HasRule("tensor_cores_unused")));
}

TEST(AdviceGpu, KernelsBesideOthersCannotBeWon) {
  const auto findings = advice_on(
      gpu_step(60 * kMs, "sgemm").kernel("elementwise", kUs, kUs + 44 * kMs, on_stream(8)));
  EXPECT_NEAR(*only(findings, "tensor_cores_unused").estimated_speedup, 100 / 86.0, 1e-9);
}

TEST(AdviceGpu, Tf32) {
  const std::string ampere = gpu("A100", 8, 0);
  const auto simt = advice_on(gpu_step(60 * kMs, "ampere_sgemm_128x64_tn", ampere));
  EXPECT_NEAR(*only(simt, "tf32_off").estimated_speedup, 100 / 47.5, 1e-9);
  EXPECT_NEAR(*only(simt, "tensor_cores_unused").estimated_speedup, 100 / (100 - 60 * 15 / 16.0),
              1e-9);
  EXPECT_EQ(only(simt, "tensor_cores_unused").knob, "amp=off,bf16,fp16");
  // A kernel that runs in TF32 already gains at most a factor of 2 by 16 bits, and nothing by TF32.
  const auto tf32 =
      advice_on(gpu_step(60 * kMs, "cutlass_80_tensorop_s1688gemm_128x64_nn_align4", ampere));
  EXPECT_THAT(tf32, Not(HasRule("tf32_off")));
  EXPECT_NEAR(*only(tf32, "tensor_cores_unused").estimated_speedup, 100 / 70.0, 1e-9);
  EXPECT_THAT(advice_on(gpu_step(60 * kMs, "ampere_bf16_s16816gemm_bf16_128x64", ampere)),
              IsEmpty());
  EXPECT_THAT(advice_on(gpu_step(60 * kMs, "volta_sgemm")), Not(HasRule("tf32_off")));
}

// Where the switch is on already, the library chose FP32.
TEST(AdviceGpu, ProductsAndConvolutionsHaveSwitchesOfTheirOwnForTf32) {
  const auto advice = [](const char* around, const char* settings) {
    return advice_on(gpu_step(0, "", gpu("A100", 8, 0))
                         .top(fmt::format(R"("torch": {{{}}})", settings))
                         .cpu_op(around, 10 * kUs, 20 * kUs)
                         .runtime("cudaLaunchKernel", 11 * kUs, 12 * kUs, 1)
                         .kernel("ampere_sgemm", 30 * kUs, 60 * kMs, on_stream(7, 1)));
  };
  const char* products_on = R"("matmul_allow_tf32": true, "cudnn_allow_tf32": false)";
  const char* cudnn_on = R"("matmul_allow_tf32": false, "cudnn_allow_tf32": true)";
  EXPECT_THAT(advice("aten::mm", cudnn_on), HasRule("tf32_off"));
  EXPECT_THAT(advice("aten::mm", products_on), Not(HasRule("tf32_off")));
  for (const char* around : {"aten::convolution_backward", "aten::_cudnn_rnn"}) {
    EXPECT_THAT(advice(around, products_on), HasRule("tf32_off")) << around;
    EXPECT_THAT(advice(around, cudnn_on), Not(HasRule("tf32_off"))) << around;
  }
}

TEST(AdviceGpu, PageableCopies) {
  const auto copy = [](const char* name, int64_t ns, int64_t kernel_ns = 60 * kMs) {
    return gpu_step(kernel_ns)
        .runtime("cudaMemcpyAsync", 70 * kMs, 70 * kMs + ns, 2)
        .slice("gpu_memcpy", name, 70 * kMs, 70 * kMs + ns, on_stream(7, 2, R"("bytes": 1024)"));
  };
  const auto findings = advice_on(copy("Memcpy HtoD (Pageable -> Device)", 2 * kMs));
  EXPECT_NEAR(*only(findings, "pageable_copies").estimated_speedup, 100 / 98.0, 1e-9);
  EXPECT_EQ(only(findings, "pageable_copies").knob, "") << "no DataLoader would take a knob";
  const auto loaded = advice_on(copy("Memcpy HtoD (Pageable -> Device)", 2 * kMs)
                                    .annotation("enumerate(DataLoader)#_Iter.__next__", 0, kMs));
  EXPECT_EQ(only(loaded, "pageable_copies").knob, "pin_memory=off,on");
  EXPECT_THAT(only(loaded, "pageable_copies").detail,
              HasSubstr(" copying a step: pin_memory=True"));
  // A loader that pins its batches copies more than the script's own tensors.
  const auto pinning = [&](int bytes) {
    return only(
        advice_on(copy("Memcpy HtoD (Pageable -> Device)", 2 * kMs)
                      .annotation("enumerate(DataLoader)#_Iter.__next__", 0, kMs)
                      .slice("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 80 * kMs, 81 * kMs,
                             on_stream(7, 3, fmt::format(R"("bytes": {})", bytes)))),
        "pageable_copies");
  };
  EXPECT_EQ(pinning(1025).knob, "");
  EXPECT_THAT(pinning(1025).detail, HasSubstr(" copying a step: tensor.pin_memory()"));
  EXPECT_EQ(pinning(1024).knob, "pin_memory=off,on");
  EXPECT_THAT(advice_on(copy("Memcpy HtoD (Pageable -> Device)", kMs / 10)),
              Not(HasRule("pageable_copies")));
  EXPECT_THAT(advice_on(copy("Memcpy HtoD (Pinned -> Device)", 2 * kMs)),
              Not(HasRule("pageable_copies")));
  // A copy that runs at the same time as a kernel costs nothing.
  EXPECT_THAT(advice_on(copy("Memcpy HtoD (Pageable -> Device)", 2 * kMs, 99 * kMs)),
              Not(HasRule("pageable_copies")));
}

TEST(AdviceGpu, LaunchBound) {
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

TEST(AdviceGpu, WhereMemoryIsFullNoLargerBatchIsAdvised) {
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

TEST(AdviceGpu, WhoHasCudaGraphsIsNotToldOfThem) {
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

TEST(AdviceGpu, ThreadsThatLaunchNothingDoNotHoldTheGpuBack) {
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
TEST(AdviceGpu, OperatorsOfALoaderDoNotHoldTheGpuBack) {
  TraceText text = launches(900, 110 * kUs).annotation(kSingle, 100 * kMs, 180 * kMs);
  text.cpu_op("aten::stack", 110 * kMs, 170 * kMs).step(1, 100 * kMs, 200 * kMs);
  EXPECT_THAT(only(advice_on(text), "launch_bound").detail, HasSubstr("launches a step of"));
}

TEST(AdviceGpu, WhatIsRarerThanStepsIsNotZeroAStep) {
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

TEST(AdviceGpu, SynchronizingCalls) {
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

TEST(AdviceGpu, ACopyAndTheWaitForItAreOneCall) {
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
TEST(AdviceGpu, WorkersThatDoNotKeepUpAreNotWaitedForAnyLess) {
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

TEST(AdviceGpu, TheCureOfAWaitIsForTheCodeThatWaits) {
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

TEST(AdviceGpu, TheWaitOfGradScalerIsNotThatOfALoss) {
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

TEST(AdviceGpu, AWaitCannotWinMoreThanItsOwnTime) {
  const auto findings = advice_on(gpu_step(40 * kMs)
                                      .runtime("cudaDeviceSynchronize", 35 * kMs, 40 * kMs)
                                      .kernel("k", 90 * kMs, 100 * kMs, on_stream(7)));
  EXPECT_NEAR(*only(findings, "synchronizing_calls").estimated_speedup, 100 / 95.0, 0.001);
}

TEST(AdviceGpu, CpuOversubscribed) {
  const auto stalled = [](int64_t launch_ns, bool gpu_is_busy) {
    return gpu_step(gpu_is_busy ? 99 * kMs : 40 * kMs)
        .runtime("cudaLaunchKernel", 50 * kMs, 50 * kMs + launch_ns, 2)
        .kernel("k", 50 * kMs + launch_ns, 100 * kMs, on_stream(8, 2));
  };
  EXPECT_THAT(advice_on(stalled(5 * kMs, false)), HasRule("cpu_oversubscribed"));
  EXPECT_THAT(advice_on(stalled(5 * kUs, false)), Not(HasRule("cpu_oversubscribed")));
  EXPECT_THAT(advice_on(stalled(5 * kMs, true)), Not(HasRule("cpu_oversubscribed")));
}

TEST(AdviceGpu, LayoutTransposes) {
  const auto transposing = [](const char* kernel) {
    return gpu_step(60 * kMs).kernel(kernel, 60 * kMs + kUs, 63 * kMs + kUs, on_stream(7));
  };
  const auto findings = advice_on(transposing("void cudnn::ops::nchwToNhwcKernel<float>"));
  EXPECT_NEAR(*only(findings, "layout_transposes").estimated_speedup, 100 / 97.0, 1e-9);
  EXPECT_EQ(only(findings, "layout_transposes").knob, "channels_last=off,on");
  EXPECT_THAT(advice_on(transposing("elementwise")), Not(HasRule("layout_transposes")));
}

TEST(AdviceGpu, ChannelsLastIsALayoutOfImages) {
  const auto cure = [](std::initializer_list<const char*> convolutions) {
    TraceText text =
        gpu_step(60 * kMs).kernel("nchwToNhwcKernel", 61 * kMs, 64 * kMs, on_stream(7));
    for (const char* name : convolutions) text.cpu_op(name, kMs, 2 * kMs);
    const auto findings = advice_on(text);
    const Finding& finding = only(findings, "layout_transposes");
    return finding.detail.substr(finding.detail.find(": ") + 2) + " [" + finding.knob + "]";
  };
  const char* images = "a channels_last model needs none [channels_last=off,on]";
  EXPECT_EQ(cure({"aten::_convolution"}), images) << "compiled";
  EXPECT_EQ(cure({"aten::conv1d", "aten::conv2d"}), images);
  EXPECT_EQ(cure({"aten::conv_transpose2d", "aten::conv3d"}), images);
  EXPECT_EQ(cure({"aten::conv3d", "aten::conv1d"}),
            "a model and inputs in memory_format=torch.channels_last_3d need none []");
  EXPECT_EQ(cure({"aten::conv_transpose1d"}),
            "Conv1d has no other layout, but Conv2d of height 1 in channels_last needs none []");
}

TEST(AdviceGpu, ContiguousCopiesOfConvolutionsAreLayoutTransposes) {
  const auto copying = [](const char* around) {
    return gpu_step(60 * kMs)
        .cpu_op(around, 10 * kMs, 11 * kMs)
        .cpu_op("aten::contiguous", 10 * kMs + kUs, 11 * kMs - kUs)
        .runtime("cudaLaunchKernel", 10 * kMs + 2 * kUs, 10 * kMs + 4 * kUs, 2)
        .kernel("copy", 60 * kMs + kUs, 63 * kMs + kUs, on_stream(7, 2));
  };
  EXPECT_THAT(advice_on(copying("aten::_convolution")), HasRule("layout_transposes"));
  EXPECT_THAT(advice_on(copying("aten::cat")), Not(HasRule("layout_transposes")));
}

TraceText convolutions(const char* benchmark, const char* last_shape,
                       int64_t kernel_ns = 10 * kMs - 4 * kUs) {
  TraceText text;
  text.top(gpu("V100", 7, 0));
  for (int i = 0; i < 3; ++i) {
    const auto id = static_cast<uint32_t>(i + 1);
    const int64_t begin_ns = i * 10 * kMs;
    text.step(i, begin_ns, begin_ns + 10 * kMs);
    text.slice(
        "cpu_op", "aten::cudnn_convolution", begin_ns + kUs, begin_ns + kMs,
        {.args = fmt::format(
             R"("Concrete Inputs": ["", "", "[1, 1]", "[0, 0]", "[1, 1]", "1", {}, "False"], )"
             R"("Input Dims": [[{}, 3, 224, 224], [64, 3, 7, 7]])",
             benchmark, i == 2 ? last_shape : "32")});
    text.runtime("cudaLaunchKernel", begin_ns + 2 * kUs, begin_ns + 3 * kUs, id);
    text.kernel("k", begin_ns + 4 * kUs, begin_ns + 4 * kUs + kernel_ns, on_stream(7, id));
  }
  return text;
}

TEST(AdviceGpu, CudnnBenchmarkOff) {
  const auto findings = advice_on(convolutions(R"("False")", "32"));
  EXPECT_THAT(findings, ElementsAre(Field(&Finding::rule, "cudnn_benchmark_off")));
  EXPECT_EQ(findings[0].knob, "cudnn_benchmark=off,on");
  EXPECT_EQ(findings[0].estimated_speedup, std::nullopt);
  EXPECT_EQ(findings[0].detail,
            "100.0 % of the step in convolutions, 1 forward call with the same shapes in each of 3 "
            "steps: torch.backends.cudnn.benchmark=True measures once");
  EXPECT_NE(said(convolutions(R"("False")", "32", 200 * kUs), "cudnn_benchmark_off"), "");
  EXPECT_EQ(said(convolutions(R"("False")", "32", 200 * kUs - 1), "cudnn_benchmark_off"), "");
  EXPECT_THAT(advice_on(convolutions(R"("True")", "32")), IsEmpty());
  EXPECT_THAT(advice_on(convolutions(R"("False")", "17")), IsEmpty()) << "shapes vary";
  EXPECT_THAT(advice_on(convolutions(R"("")", "32")), IsEmpty()) << "the trace does not tell";
}

TEST(AdviceGpu, OnlyTheExposedPartOfTheOptimizerCanBeWon) {
  const auto optimizer = [](int64_t kernel_ns) {
    TraceText text =
        gpu_step(kernel_ns).annotation("Optimizer.step#AdamW.step", 50 * kMs, 70 * kMs);
    for (int i = 0; i < 100; ++i) {
      text.cpu_op("aten::mul_", 50 * kMs + i * 200 * kUs, 50 * kMs + i * 200 * kUs + 190 * kUs);
    }
    return text;
  };
  EXPECT_NEAR(*only(advice_on(optimizer(60 * kMs)), "optimizer_per_parameter").estimated_speedup,
              100 / 90.0, 0.001);
  EXPECT_THAT(advice_on(optimizer(99 * kMs)), Not(HasRule("optimizer_per_parameter")));
}

TraceText reserving(int64_t kernel_ns, int bytes) {
  return gpu_step(kernel_ns)
      .kernel("k", kUs, kUs + kernel_ns, on_stream(8, 0, R"("blocks per SM": 2)"))
      .event(holding(bytes));
}

TEST(AdviceGpu, MemoryUnused) {
  const auto findings = advice_on(reserving(60 * kMs, 300));
  const Finding& finding = only(findings, "memory_unused");
  EXPECT_NEAR(*finding.estimated_speedup, 100 / 60.0, 1e-9);
  ASSERT_EQ(finding.events.size(), 1);
  EXPECT_EQ(finding.events[0].begin_ns, 7 * kUs);
  EXPECT_FALSE(finding.events[0].slice);
  EXPECT_EQ(finding.knob, "batch_size=1..4096");
  const auto known =
      advice_on(reserving(60 * kMs, 300).top(R"("redline": {"samples_per_step": 32})"));
  EXPECT_EQ(only(known, "memory_unused").knob, "batch_size=32..128") << "3.3 times fit";
  TraceText four_batches = reserving(60 * kMs, 300).top(R"("redline": {"samples_per_step": 32})");
  for (int i = 0; i < 4; ++i) {
    four_batches.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                            (61 + i) * kMs, (61 + i) * kMs + kUs);
  }
  EXPECT_EQ(only(advice_on(four_batches), "memory_unused").knob, "batch_size=8..32")
      << "what a loader gives at once";
  EXPECT_THAT(advice_on(reserving(60 * kMs, 600)), Not(HasRule("memory_unused")));
  EXPECT_THAT(advice_on(reserving(99 * kMs, 300)), Not(HasRule("memory_unused")))
      << "the multiprocessors are full already";
}

TEST(AdviceGpu, DeviceMemoryFull) {
  EXPECT_EQ(only(advice_on(reserving(60 * kMs, 950)), "device_memory_full").knob,
            "amp=off,bf16,fp16");
  const auto knob = [](int64_t in_use) {
    return only(advice_on(gpu_step(60 * kMs).event(holding(950, in_use))), "device_memory_full")
        .knob;
  };
  EXPECT_EQ(knob(760), "amp=off,bf16,fp16");
  EXPECT_EQ(knob(759), "") << "less than 80 % of what is held";
  const auto half =
      reserving(60 * kMs, 950).kernel("ampere_bf16_s16816gemm_bf16_128x64", kUs, kMs, on_stream(9));
  EXPECT_EQ(only(advice_on(half), "device_memory_full").knob, "checkpointing=off,on");
  EXPECT_THAT(advice_on(reserving(60 * kMs, 800)), Not(HasRule("device_memory_full")));
}

TraceText allocating_in(const std::vector<int>& steps) {
  TraceText text;
  for (int i = 0; i < 3; ++i) {
    const auto id = static_cast<uint32_t>(i + 1);
    const int64_t begin_ns = i * 100 * kMs;
    text.step(i, begin_ns, begin_ns + 100 * kMs);
    text.runtime("cudaLaunchKernel", begin_ns, begin_ns + kUs, id);
    text.kernel("k", begin_ns + kUs, begin_ns + 60 * kMs, on_stream(7, id));
    for (const int step : steps) {
      if (step == i) text.runtime("cudaFree", begin_ns + 60 * kMs, begin_ns + 90 * kMs);
    }
  }
  return text;
}

TEST(AdviceGpu, AllocatorRetries) {
  const auto findings = advice_on(allocating_in({0, 1, 2}));
  EXPECT_NEAR(*only(findings, "allocator_retries").estimated_speedup, 100 / 70.0, 0.001);
  EXPECT_THAT(advice_on(allocating_in({0})), Not(HasRule("allocator_retries")))
      << "the cache grows";
  EXPECT_THAT(advice_on(allocating_in({})), Not(HasRule("allocator_retries")));
}

TEST(AdviceGpu, OnlyMemoryOfTheGpuThatTrainingAsksForCounts) {
  const auto advice = [](const char* call, const char* thread = "1") {
    TraceText text = allocating_in({});
    for (int i = 0; i < 3; ++i) {
      text.slice("cuda_driver", call, (i * 100 + 60) * kMs, (i * 100 + 90) * kMs, {.tid = thread});
    }
    return said(text, "allocator_retries");
  };
  EXPECT_THAT(advice("cudaMalloc"), HasSubstr(":True, or a smaller batch\n"));
  EXPECT_EQ(advice("cudaMalloc", "99"), "") << "as of a thread that pins batches";
  EXPECT_EQ(advice("cudaHostAlloc"), "");
  // What expandable segments are made of.
  EXPECT_THAT(advice("cuMemMap"), HasSubstr("empty_cache() in the loop, or a smaller batch\n"));
  const auto full = gpu_step(60 * kMs).event(holding(950, 300)).runtime("cuMemMap", kUs, kMs);
  EXPECT_THAT(said(full, "device_memory_full"), HasSubstr("or in fragments\n"));
}

TEST(AdviceGpu, AllocatorRetriesAfterOutOfMemory) {
  const TraceText text = gpu_step(99 * kMs).event(
      R"({"ph": "i", "s": "t", "name": "[OutOfMemory]", "pid": 1, "tid": 1, "ts": 9, "args": {}})");
  const auto findings = advice_on(text);
  const Finding& finding = only(findings, "allocator_retries");
  EXPECT_THAT(finding.detail, HasSubstr("a smaller batch, AMP or PYTORCH"));
  EXPECT_THAT(only(advice_on(TraceText(text).kernel("gemm_f16", kUs, kMs, on_stream(9))),
                   "allocator_retries")
                  .detail,
              HasSubstr("a smaller batch or PYTORCH"));
  EXPECT_EQ(finding.headline, "Out of memory: an allocation failed");
  EXPECT_EQ(finding.events[0].begin_ns, 9 * kUs);
}

TEST(AdviceGpu, TheHostsAllocatorThatRanOutOfMemoryHasNoCacheToEmpty) {
  const auto ran_out_on = [](int device_type) {
    return gpu_step(99 * kMs).event(fmt::format(
        R"({{"ph": "i", "s": "t", "name": "[OutOfMemory]", "pid": 1, "tid": 1, "ts": 9,)"
        R"( "args": {{"Device Type": {}, "Device Id": 0}}}})",
        device_type));
  };
  EXPECT_THAT(advice_on(ran_out_on(1)), HasRule("allocator_retries"));
  EXPECT_THAT(advice_on(ran_out_on(0)), Not(HasRule("allocator_retries")));
}

TEST(AdviceGpu, ManySmallCollectivesWantBuckets) {
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

TEST(AdviceGpu, CollectivesWithinForwardAreOfLayersThatAreSplit) {
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

TEST(AdviceGpu, OnlyAShardedModelIsToldToPrefetchShards) {
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

TEST(AdviceGpu, DataParallelCopiesTheModelInEachStep) {
  const auto text = [](const char* around, int64_t copy_ns) {
    return gpu_step(50 * kMs)
        .annotation(around, 10 * kMs, 90 * kMs)
        .cpu_op("Broadcast", 11 * kMs, 11 * kMs + copy_ns);
  };
  const auto findings = advice_on(text("DataParallel.forward", 20 * kMs));
  EXPECT_DOUBLE_EQ(*only(findings, "data_parallel").estimated_speedup, 1.25);
  EXPECT_THAT(only(findings, "data_parallel").detail, HasSubstr("DistributedDataParallel"));
  EXPECT_THAT(advice_on(text("DataParallel.forward", kMs)), Not(HasRule("data_parallel")));
  EXPECT_THAT(advice_on(text("MyModel.forward", 20 * kMs)), Not(HasRule("data_parallel")));
}

TEST(AdviceGpu, GpusThatTakeTurns) {
  const auto second_from = [](int64_t begin_ns) {
    return gpu_step(40 * kMs).kernel("k", begin_ns, begin_ns + 40 * kMs, {.pid = "1", .tid = "9"});
  };
  const auto findings = advice_on(second_from(50 * kMs));
  EXPECT_NEAR(*only(findings, "gpus_take_turns").estimated_speedup, 100.0 / 60, 0.001);
  EXPECT_THAT(advice_on(second_from(20 * kMs)), Not(HasRule("gpus_take_turns")));
  EXPECT_THAT(advice_on(gpu_step(40 * kMs)), Not(HasRule("gpus_take_turns")));
}

TEST(AdviceGpu, AGpuThatIsThrottled) {
  const auto heat = [](const char* values) {
    TraceText text = gpu_step(99 * kMs);
    for (int i = 0; i < 4; ++i) {
      text.event(
          fmt::format(R"({{"ph": "C", "cat": "counter", "name": "GPU 0 throttled", "pid": 1, )"
                      R"("tid": 0, "ts": {}, "args": {{"heat": {}}}}})",
                      i * 25'000, values[i]));
    }
    return advice_on(text);
  };
  EXPECT_EQ(only(heat("0110"), "gpu_throttled").headline, "GPU 0 is slowed by heat");
  EXPECT_THAT(only(heat("0110"), "gpu_throttled").detail, HasSubstr("50.0 % of the steps"));
  EXPECT_THAT(only(heat("0110"), "gpu_throttled").detail,
              HasSubstr("nvidia-smi -q -d TEMPERATURE"));
  EXPECT_THAT(heat("0000"), Not(HasRule("gpu_throttled")));
}

TEST(AdviceGpu, AStartUpIsNotJudgedAsTraining) {
  const auto findings = advice_on(TraceText()
                                      .cpu_op("aten::empty", 0, 3000 * kMs)
                                      .runtime("cudaFree", kUs, 2000 * kMs)
                                      .runtime("cudaLaunchKernel", 2900 * kMs, 2901 * kMs, 1)
                                      .kernel("k", 2950 * kMs, 2951 * kMs, on_stream(7, 1)));
  EXPECT_THAT(findings, ElementsAre(Field(&Finding::rule, "startup_recorded")));
}

TEST(AdviceGpu, AWaitForABusyGpuIsNoStartUp) {
  const auto waiting = [](const char* call, int64_t busy_ns) {
    return advice_on(TraceText()
                         .top(gpu("A100", 8, 0))
                         .cpu_op("aten::mm", 0, 1000 * kMs)
                         .runtime("cudaLaunchKernel", kUs, 2 * kUs, 1)
                         .kernel("ampere_sgemm_128x64_tn", 3 * kUs, busy_ns, on_stream(7, 1))
                         .runtime(call, 10 * kUs, 900 * kMs, 2));
  };
  for (const char* call : {"cudaMemcpyAsync", "cudaStreamSynchronize", "cuStreamSynchronize"}) {
    const auto findings = waiting(call, 899 * kMs);
    EXPECT_THAT(findings, Not(HasRule("startup_recorded"))) << call;
    EXPECT_THAT(findings, HasRule("tensor_cores_unused")) << call;
    // Where the device has work for a part of the call, the rest is set-up.
    EXPECT_EQ(only(waiting(call, 300 * kMs), "startup_recorded").headline,
              "A start-up, not training: 600.0 ms in CUDA set-up");
  }
}

// A single rank's NCCL launches no kernel.
TEST(AdviceGpu, WhatTheHostTakesToEnqueueACollectiveIsNoCommunication) {
  const auto advice = [](const char* collective) {
    return advice_on(gpu_step(50 * kMs).rank(0, 1).slice("user_annotation", collective, 60 * kMs,
                                                         90 * kMs, {.tid = "2"}));
  };
  EXPECT_THAT(advice("nccl:all_reduce"), Not(HasRule("communication")));
  EXPECT_THAT(advice("gloo:all_reduce"), HasRule("communication"));
}

// RCCL's kernels are all alike, and NCCL gathers by sending and receiving, too.
TEST(AdviceGpu, ExchangesAreToldByTheirKind) {
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

TEST(AdviceGpu, AThrottledGpuIsNamedByItsIdAndNotByCudasNumber) {
  const auto advice = [](const std::string& properties, const char* reason) {
    TraceText text = redline::testing::throttled(40 * kMs, reason);
    return only(advice_on(text.top(R"("deviceProperties": [{"id": 3, )" + properties + "}]")),
                "gpu_throttled")
        .detail;
  };
  const std::string known = R"("name": "H100", "uuid": "GPU-8f3a")";
  EXPECT_THAT(
      advice(known, "power cap"),
      HasSubstr(": nvidia-smi -i GPU-8f3a -q -d POWER shows its limit, -pl WATTS raises it"));
  EXPECT_THAT(advice(known, "heat"), HasSubstr("(nvidia-smi -i GPU-8f3a -q -d TEMPERATURE)"));
  EXPECT_THAT(advice(R"("name": "H100 MIG 1g.10gb", "uuid": "GPU-8f3a")", "heat"),
              HasSubstr("(nvidia-smi -q -d TEMPERATURE)"));
}

// As of a checkpoint that is loaded to the device from which it was saved.
TEST(AdviceGpu, AGpuWithOneTinyKernelIsNotJudged) {
  const auto advice = [](int64_t stray_ns, int64_t main_ns) {
    return advice_on(gpu_step(main_ns).kernel("fill", 0, stray_ns, {.pid = "1", .tid = "9"}));
  };
  EXPECT_THAT(advice(kUs, 60 * kMs), Not(HasRule("low_gpu_utilization")));
  EXPECT_THAT(advice(kMs, 60 * kMs), HasRule("low_gpu_utilization")) << "it works, but little";
  EXPECT_EQ(only(advice(kUs, 40 * kMs), "low_gpu_utilization").headline,
            "GPU 0 runs kernels 40.0 % of the time");
}

TEST(AdviceGpu, TheSmallTuringsHaveNoTensorCores) {
  const auto advice = [](const char* name) {
    return advice_on(gpu_step(60 * kMs, "turing_sgemm_128x64_nn", gpu(name, 7, 5)));
  };
  for (const char* name : {"NVIDIA GeForce GTX 1660 Ti", "NVIDIA GeForce MX450", "NVIDIA T600"}) {
    EXPECT_THAT(advice(name), Not(HasRule("tensor_cores_unused"))) << name;
  }
  for (const char* name : {"NVIDIA GeForce RTX 2080", "Tesla T4"}) {
    EXPECT_THAT(advice(name), HasRule("tensor_cores_unused")) << name;
  }
}

}  // namespace
}  // namespace redline::trace
