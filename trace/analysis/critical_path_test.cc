#include "trace/analysis/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/paths.h"
#include "tests/trace_text.h"
#include "trace/analysis/analysis.h"
#include "trace/model/slice_view.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::ElementsAre;

// The parts of the path from its begin to its end, as "class name length". Neighbours of the same
// kind are joined.
std::vector<std::string> path_of(const TraceText& text) {
  const auto trace = *parse_trace("test", text.str());
  const Analysis analysis = analyze(trace);
  std::vector<std::string> lines;
  std::string last;
  int64_t length_ns = 0;
  const auto flush = [&] {
    if (!last.empty()) lines.push_back(fmt::format("{} {}", last, length_ns / kUs));
    length_ns = 0;
  };
  std::vector<PathPart> parts;
  walk_critical_path(*trace, NameKinds(*trace), analysis.device_work, analysis.steps,
                     [&](const PathPart& part) { parts.push_back(part); });
  std::reverse(parts.begin(), parts.end());
  for (const PathPart& part : parts) {
    const std::string what =
        fmt::format("{} {}", part_name(part.kind), part.slice ? name_of(*trace, part.slice) : "-");
    if (what != last) flush(), last = what;
    length_ns += part.interval.length_ns();
  }
  flush();
  return lines;
}

Row launched(int stream, uint32_t correlation) { return on_stream(stream, correlation); }

TEST(CriticalPath, OfAHostThatCannotKeepUpIsTheHost) {
  EXPECT_THAT(
      path_of(TraceText()
                  .step(0, 0, 100 * kUs)
                  .cpu_op("aten::mm", 10 * kUs, 40 * kUs)
                  .runtime("cudaLaunchKernel", 20 * kUs, 30 * kUs, 1)
                  .kernel("gemm", 33 * kUs, 35 * kUs, launched(7, 1))
                  .cpu_op("aten::add", 50 * kUs, 90 * kUs)
                  .runtime("cudaLaunchKernel", 70 * kUs, 80 * kUs, 2)
                  .kernel("add", 84 * kUs, 120 * kUs, launched(7, 2))),
      ElementsAre("other ProfilerStep#0 10", "cpu aten::mm 10", "runtime cudaLaunchKernel 10",
                  "cpu aten::mm 10", "other ProfilerStep#0 10", "cpu aten::add 20",
                  "runtime cudaLaunchKernel 10", "launch_delay add 4", "kernel add 36"));
}

TEST(CriticalPath, OfABusyGpuIsItsKernels) {
  EXPECT_THAT(path_of(TraceText()
                          .step(0, 0, 30 * kUs)
                          .cpu_op("aten::mm", 0, 30 * kUs)
                          .runtime("cudaLaunchKernel", 5 * kUs, 10 * kUs, 1)
                          .runtime("cudaLaunchKernel", 12 * kUs, 15 * kUs, 2)
                          .kernel("a", 12 * kUs, 50 * kUs, launched(7, 1))
                          .kernel("b", 51 * kUs, 90 * kUs, launched(7, 2))),
              ElementsAre("cpu aten::mm 5", "runtime cudaLaunchKernel 5", "launch_delay a 2",
                          "kernel a 38", "device_wait b 1", "kernel b 39"));
}

TEST(CriticalPath, GoesOverStreamsThatWaitForEachOther) {
  EXPECT_THAT(path_of(TraceText()
                          .step(0, 0, 30 * kUs)
                          .runtime("cudaLaunchKernel", 0, 5 * kUs, 1)
                          .runtime("cudaLaunchKernel", 6 * kUs, 8 * kUs, 2)
                          .runtime("cudaLaunchKernel", 9 * kUs, 11 * kUs, 3)
                          .kernel("backward", 5 * kUs, 50 * kUs, launched(7, 1))
                          .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 52 * kUs, 80 * kUs,
                                  launched(9, 2))
                          .kernel("optimizer", 81 * kUs, 90 * kUs, launched(7, 3))),
              ElementsAre("runtime cudaLaunchKernel 5", "kernel backward 45",
                          "device_wait ncclDevKernel_AllReduce_Sum_f32_RING_LL 2",
                          "communication ncclDevKernel_AllReduce_Sum_f32_RING_LL 28",
                          "device_wait optimizer 1", "kernel optimizer 9"));
}

TEST(CriticalPath, ASynchronisingCallWaitsForTheGpu) {
  EXPECT_THAT(
      path_of(TraceText()
                  .step(0, 0, 100 * kUs)
                  .cpu_op("aten::item", 0, 80 * kUs)
                  .runtime("cudaLaunchKernel", 0, 10 * kUs, 1)
                  .kernel("long", 10 * kUs, 60 * kUs, launched(7, 1))
                  .runtime("cudaStreamSynchronize", 20 * kUs, 65 * kUs, 2)
                  .cpu_op("aten::add", 80 * kUs, 100 * kUs)),
      ElementsAre("runtime cudaLaunchKernel 10", "kernel long 50",
                  "runtime cudaStreamSynchronize 5", "cpu aten::item 15", "cpu aten::add 20"));
}

TEST(CriticalPath, ACopyFromPageableMemoryHoldsItsCall) {
  EXPECT_THAT(path_of(TraceText()
                          .step(0, 0, 100 * kUs)
                          .cpu_op("aten::to", 0, 100 * kUs)
                          .runtime("cudaMemcpyAsync", 10 * kUs, 70 * kUs, 1)
                          .slice("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 20 * kUs,
                                 60 * kUs, launched(7, 1))),
              ElementsAre("cpu aten::to 10", "runtime cudaMemcpyAsync 10",
                          "memcpy Memcpy HtoD (Pageable -> Device) 40",
                          "runtime cudaMemcpyAsync 10", "cpu aten::to 30"));
}

// The copy of .item() is launched while its stream works; the call waits for both.
TEST(CriticalPath, ACopyThatWaitsForItsStreamFollowsOnWhatRanThere) {
  const auto path = [](int copies_stream) {
    return path_of(TraceText()
                       .step(0, 0, 100 * kUs)
                       .cpu_op("aten::mm", 0, 10 * kUs)
                       .runtime("cudaLaunchKernel", 2 * kUs, 5 * kUs, 1)
                       .kernel("gemm", 6 * kUs, 80 * kUs, launched(7, 1))
                       .cpu_op("aten::item", 20 * kUs, 100 * kUs)
                       .runtime("cudaMemcpyAsync", 25 * kUs, 90 * kUs, 2)
                       .slice("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 82 * kUs, 85 * kUs,
                              launched(copies_stream, 2)));
  };
  for (const int copies_stream : {7, 9}) {
    EXPECT_THAT(path(copies_stream),
                ElementsAre("cpu aten::mm 2", "runtime cudaLaunchKernel 3", "launch_delay gemm 1",
                            "kernel gemm 74", "device_wait Memcpy DtoH (Device -> Pageable) 2",
                            "memcpy Memcpy DtoH (Device -> Pageable) 3",
                            "runtime cudaMemcpyAsync 5", "cpu aten::item 10"))
        << copies_stream;
  }
}

TEST(CriticalPath, TheThreadThatCallsBackwardWaitsForAutograds) {
  EXPECT_THAT(path_of(TraceText()
                          .step(0, 0, 100 * kUs)
                          .cpu_op("forward", 0, 30 * kUs)
                          .cpu_op("backward1", 35 * kUs, 50 * kUs, {.tid = "2"})
                          .cpu_op("backward2", 50 * kUs, 80 * kUs, {.tid = "2"})
                          .cpu_op("optimizer", 90 * kUs, 100 * kUs)),
              ElementsAre("cpu forward 30", "other - 5", "cpu backward1 15", "cpu backward2 30",
                          "other ProfilerStep#0 10", "cpu optimizer 10"));
}

TEST(CriticalPath, AutogradsThreadWaitsForTheFrameThatCalledIt) {
  EXPECT_THAT(path_of(TraceText()
                          .step(0, 0, 100 * kUs)
                          .slice("python_function", "train.py(9): forward", 10 * kUs, 40 * kUs)
                          .cpu_op("forward", 15 * kUs, 30 * kUs)
                          .cpu_op("backward", 50 * kUs, 80 * kUs, {.tid = "2"})
                          .cpu_op("optimizer", 90 * kUs, 100 * kUs)),
              ElementsAre("other ProfilerStep#0 10", "other train.py(9): forward 5",
                          "cpu forward 15", "other train.py(9): forward 10", "other - 10",
                          "cpu backward 30", "other ProfilerStep#0 10", "cpu optimizer 10"));
}

// In a container Python is process 1, and the GPU may have a stream 1, too.
TEST(CriticalPath, AThreadWithTheNumbersOfAStreamIsNoStream) {
  const auto path = [](const std::string& device) {
    const Row stream{.pid = device};
    const auto of = [&](uint32_t correlation) { return Row{device, "1", correlation}; };
    return path_of(TraceText()
                       .step(0, 0, 100 * kUs)
                       .cpu_op("aten::mm", 10 * kUs, 40 * kUs)
                       .runtime("cudaLaunchKernel", 20 * kUs, 30 * kUs, 1)
                       .slice("gpu_user_annotation", "ProfilerStep#0", 33 * kUs, 120 * kUs, stream)
                       .kernel("gemm", 33 * kUs, 55 * kUs, of(1))
                       .cpu_op("aten::add", 50 * kUs, 90 * kUs)
                       .runtime("cudaLaunchKernel", 70 * kUs, 80 * kUs, 2)
                       .kernel("add", 84 * kUs, 120 * kUs, of(2)));
  };
  for (const char* device : {"0", "1"}) {
    EXPECT_THAT(
        path(device),
        ElementsAre("other ProfilerStep#0 10", "cpu aten::mm 10", "runtime cudaLaunchKernel 10",
                    "cpu aten::mm 10", "other ProfilerStep#0 10", "cpu aten::add 20",
                    "runtime cudaLaunchKernel 10", "launch_delay add 4", "kernel add 36"))
        << device;
  }
}

// With stacks an annotation begins within the frames that begin it, and outlives them.
TEST(CriticalPath, GoesThroughAnnotationsThatOutliveTheFramesInWhichTheyBegan) {
  EXPECT_THAT(
      path_of(TraceText()
                  .step(0, 0, 100 * kUs)
                  .slice("python_function", "profiler.py(854): __enter__", 10 * kUs, 20 * kUs)
                  .slice("python_function", "_ops.py(1257): __call__", 12 * kUs, 19 * kUs)
                  .annotation("Optimizer.step#AdamW.step", 15 * kUs, 90 * kUs)
                  .cpu_op("aten::sqrt", 30 * kUs, 80 * kUs)),
      ElementsAre("other ProfilerStep#0 10", "other profiler.py(854): __enter__ 2",
                  "other _ops.py(1257): __call__ 3", "other Optimizer.step#AdamW.step 15",
                  "cpu aten::sqrt 50", "other Optimizer.step#AdamW.step 10",
                  "other ProfilerStep#0 10"));
}

TEST(CriticalPath, PythonWithinALoaderOrAnOperatorIsTheirs) {
  EXPECT_THAT(path_of(TraceText()
                          .step(0, 0, 100 * kUs)
                          .annotation("enumerate(DataLoader)#Loader.__next__", 0, 30 * kUs)
                          .slice("python_function", "queues.py(109): get", 5 * kUs, 25 * kUs)
                          .cpu_op("Custom", 30 * kUs, 90 * kUs)
                          .slice("python_function", "ops.py(3): forward", 40 * kUs, 80 * kUs)),
              ElementsAre("dataloader enumerate(DataLoader)#Loader.__next__ 30", "cpu Custom 60",
                          "other ProfilerStep#0 10"));
}

// As multiprocessing's feeder of queues, which mostly waits.
TEST(CriticalPath, AThreadOfPythonAloneIsNotWaitedFor) {
  const auto frame = [](TraceText text, const char* name, int64_t begin_us, int64_t end_us) {
    return text.slice("python_function", name, begin_us * kUs, end_us * kUs, {.tid = "2"});
  };
  TraceText text = TraceText()
                       .step(0, 0, 100 * kUs)
                       .slice("python_function", "train.py(9): step", 0, 100 * kUs)
                       .cpu_op("forward", 10 * kUs, 40 * kUs)
                       .cpu_op("backward", 60 * kUs, 100 * kUs);
  text = frame(text, "queues.py(231): _feed", 0, 100);
  text = frame(text, "threading.py(295): wait", 1, 48);
  text = frame(text, "reduction.py(48): dumps", 48, 50);
  text = frame(text, "threading.py(295): wait", 51, 100);
  EXPECT_THAT(path_of(text), ElementsAre("other train.py(9): step 10", "cpu forward 30",
                                         "other train.py(9): step 20", "cpu backward 40"));
}

TEST(CriticalPath, AThreadThatWorksBesideIsNotWaitedFor) {
  EXPECT_THAT(
      path_of(TraceText()
                  .step(0, 0, 100 * kUs)
                  .cpu_op("a", 0, 40 * kUs)
                  .slice("user_annotation", "gloo:all_reduce", 10 * kUs, 42 * kUs, {.tid = "2"})
                  .cpu_op("b", 60 * kUs, 100 * kUs)),
      ElementsAre("cpu a 40", "other ProfilerStep#0 20", "cpu b 40"));
}

TEST(CriticalPath, ACollectiveOnTheHostIsWaitedFor) {
  EXPECT_THAT(
      path_of(TraceText()
                  .step(0, 0, 100 * kUs)
                  .cpu_op("a", 0, 40 * kUs)
                  .slice("user_annotation", "gloo:all_reduce", 10 * kUs, 58 * kUs, {.tid = "2"})
                  .cpu_op("b", 60 * kUs, 100 * kUs)),
      ElementsAre("other - 10", "communication gloo:all_reduce 48", "other ProfilerStep#0 2",
                  "cpu b 40"));
}

TEST(CriticalPath, TimeOfTheDataLoaderIsItsOwn) {
  EXPECT_THAT(path_of(TraceText()
                          .step(0, 0, 100 * kUs)
                          .annotation("enumerate(DataLoader)#_SingleProcess.__next__", 0, 60 * kUs)
                          .cpu_op("aten::stack", 10 * kUs, 20 * kUs)
                          .cpu_op("aten::mm", 60 * kUs, 100 * kUs)),
              ElementsAre("dataloader enumerate(DataLoader)#_SingleProcess.__next__ 10",
                          "cpu aten::stack 10",
                          "dataloader enumerate(DataLoader)#_SingleProcess.__next__ 40",
                          "cpu aten::mm 40"));
}

TEST(CriticalPath, MeansAreOfAllStepsAndNamesAreRanked) {
  const auto trace = *parse_trace("test", TraceText()
                                              .step(0, 0, 100 * kUs)
                                              .cpu_op("a", 0, 60 * kUs)
                                              .cpu_op("b", 60 * kUs, 100 * kUs)
                                              .step(1, 100 * kUs, 300 * kUs)
                                              .cpu_op("a", 100 * kUs, 300 * kUs)
                                              .str());
  const Analysis analysis = analyze(trace);
  const auto path = *critical_path(*trace, NameKinds(*trace), analysis.device_work, analysis.steps);
  EXPECT_EQ(path.steps, 2);
  EXPECT_EQ(path.of(BreakdownPart::kCpu), 150 * kUs);
  ASSERT_EQ(path.names.size(), 2U);
  EXPECT_EQ(trace->string(path.names[0].name), "a");
  EXPECT_EQ(path.names[0].total_ns, 260 * kUs);
  EXPECT_EQ(path.longest.at(0).interval, (Interval{100 * kUs, 300 * kUs}));
}

// Work without length is launched in a circle; the walk must end all the same.
TEST(CriticalPath, BrokenTracesEnd) {
  TraceText text;
  text.step(0, 0, 100 * kUs);
  for (uint32_t i = 1; i < 40; ++i) {
    text.runtime("cudaMemcpyAsync", int64_t{i % 7} * kUs, 50 * kUs, i);
    text.slice("gpu_memcpy", "Memcpy DtoD", 50 * kUs, 50 * kUs,
               on_stream(static_cast<int>(i % 5), i));
  }
  text.runtime("cudaDeviceSynchronize", 40 * kUs, 50 * kUs, 99);
  text.kernel("gemm", 50 * kUs, 100 * kUs, on_stream(3));
  EXPECT_FALSE(path_of(text).empty());
}

TEST(CriticalPath, PartsSumToTheStepsOfEveryRealTrace) {
  const std::filesystem::path folder = redline::testing::shared_dir() + "/traces";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(file.path());
    const auto trace = *read_trace(file.path());
    const Analysis analysis = analyze(trace);
    int64_t steps_ns = 0, path_ns = 0, at_ns = INT64_MAX;
    for (const Step& step : analysis.steps) steps_ns += step.window.length_ns();
    walk_critical_path(*trace, NameKinds(*trace), analysis.device_work, analysis.steps,
                       [&](const PathPart& part) {
                         EXPECT_LT(part.interval.begin_ns, part.interval.end_ns);
                         EXPECT_LE(part.interval.end_ns, at_ns);
                         at_ns = part.interval.begin_ns;
                         path_ns += part.interval.length_ns();
                       });
    EXPECT_EQ(path_ns, steps_ns);
  }
}

}  // namespace
}  // namespace redline::trace
