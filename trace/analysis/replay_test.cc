#include "trace/analysis/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/parsed_trace.h"
#include "tests/paths.h"
#include "trace/model/slice_view.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::ElementsAre;

// The steps in us if slices of these names take `factor` of their time.
std::vector<int64_t> steps_us(const TraceText& text, const std::string& name, double factor) {
  const Analysis analysis = analysis_of(text);
  Change change(*analysis.trace);
  change.loader_factor = factor;
  for (uint32_t i = 0; i < analysis.trace->slice_count(); ++i) {
    if (name_of(*analysis.trace, SliceId{i}) == name) change.scale(SliceId{i}, factor);
  }
  std::vector<int64_t> lengths = replay(analysis, change);
  for (int64_t& each : lengths) each /= kUs;
  return lengths;
}

// Two kernels of 40 us, launched at 10 and at 20 us by a host that needs 30 us.
TraceText two_kernels(const std::string& device = "0") {
  TraceText text;
  text.step(0, 0, 30 * kUs).cpu_op("aten::mm", 0, 30 * kUs);
  text.runtime("cudaLaunchKernel", 10 * kUs, 12 * kUs, 1);
  text.runtime("cudaLaunchKernel", 20 * kUs, 22 * kUs, 2);
  text.kernel("a", 14 * kUs, 54 * kUs, {device, "1", 1});
  text.kernel("b", 55 * kUs, 95 * kUs, {device, "1", 2});
  return text;
}

TEST(Replay, AKernelWaitsForTheOneBeforeItAndForItsLaunch) {
  // On GPU 1 they have the pid and tid of the thread: in a container Python is process 1.
  for (const char* device : {"0", "1"}) {
    EXPECT_THAT(steps_us(two_kernels(device), "a", 1), ElementsAre(95));
    EXPECT_THAT(steps_us(two_kernels(device), "a", 0.5), ElementsAre(75));
    // Without the first, the second comes as long after its launch as the first did: at 24 us.
    EXPECT_THAT(steps_us(two_kernels(device), "a", 0), ElementsAre(64));
    EXPECT_THAT(steps_us(two_kernels(device), "a", 2), ElementsAre(135));
    // The host's own time before the first launch is 10 us, and half of them are gone.
    EXPECT_THAT(steps_us(two_kernels(device), "aten::mm", 0.5), ElementsAre(90));
  }
}

TEST(Replay, AStepIsNeverShorterThanItsHost) {
  const auto kernels_free = [](TraceText text) {
    const Analysis analysis = analysis_of(text);
    Change change(*analysis.trace);
    for (const DeviceWork& work : analysis.device_work.rows) change.scale(work.slice, 0);
    return replay(analysis, change);
  };
  EXPECT_THAT(kernels_free(two_kernels()), ElementsAre(30 * kUs));
}

TEST(Replay, ACallThatWaitsReturnsWhenTheGpuIsDone) {
  TraceText text;
  text.step(0, 0, 120 * kUs).cpu_op("aten::mm", 0, 30 * kUs);
  text.runtime("cudaLaunchKernel", 10 * kUs, 12 * kUs, 1);
  text.kernel("a", 14 * kUs, 95 * kUs, on_stream(7, 1));
  text.runtime("cudaStreamSynchronize", 40 * kUs, 96 * kUs);
  EXPECT_THAT(steps_us(text, "a", 1), ElementsAre(120));
  EXPECT_THAT(steps_us(text, "a", 2), ElementsAre(201));
  // It would be done at 23 us; the call itself takes 5 us, and what follows stays.
  EXPECT_THAT(steps_us(text, "a", 1 / 9.0), ElementsAre(69));
}

TEST(Replay, AStreamWaitsForTheOtherOne) {
  TraceText text;
  text.step(0, 0, 30 * kUs).cpu_op("aten::mm", 0, 30 * kUs);
  text.runtime("cudaLaunchKernel", 1 * kUs, 2 * kUs, 1);
  text.runtime("cudaLaunchKernel", 3 * kUs, 4 * kUs, 2);
  text.kernel("compute", 5 * kUs, 50 * kUs, on_stream(7, 1));
  text.kernel("other", 52 * kUs, 90 * kUs, on_stream(8, 2));
  EXPECT_THAT(steps_us(text, "compute", 1), ElementsAre(90));
  EXPECT_THAT(steps_us(text, "compute", 0.2), ElementsAre(54));
}

TEST(Replay, APauseEndsWhenTheThreadThatWorkedInItIsDone) {
  TraceText text;
  text.step(0, 0, 100 * kUs).cpu_op("aten::mm", 0, 20 * kUs);
  text.cpu_op("autograd::engine::evaluate_function: MmBackward0", 25 * kUs, 85 * kUs,
              Row{.tid = "2"});
  text.cpu_op("aten::add", 90 * kUs, 100 * kUs);
  EXPECT_THAT(steps_us(text, "aten::add", 1), ElementsAre(100));
  EXPECT_THAT(steps_us(text, "autograd::engine::evaluate_function: MmBackward0", 0.5),
              ElementsAre(70));
  // The other thread begins when this one calls it.
  EXPECT_THAT(steps_us(text, "aten::mm", 0), ElementsAre(80));
}

TEST(Replay, AnotherThreadBeginsWhenTheFrameThatCalledItIsDone) {
  TraceText text;
  text.step(0, 0, 100 * kUs);
  text.slice("python_function", "train.py(9): forward", 0, 40 * kUs);
  text.cpu_op("forward", 10 * kUs, 30 * kUs);
  text.cpu_op("backward", 50 * kUs, 80 * kUs, Row{.tid = "2"});
  text.cpu_op("optimizer", 90 * kUs, 100 * kUs);
  EXPECT_THAT(steps_us(text, "forward", 0), ElementsAre(80));
  EXPECT_THAT(steps_us(text, "forward", 2), ElementsAre(120));
}

// The job waits 30 ms for a worker's next batch and computes 20 ms.
TraceText waits_for_workers(bool has_stacks) {
  TraceText text;
  for (int i = 0; i < 3; ++i) {
    const int64_t at = i * 50 * kMs;
    text.step(i, at, at + 50 * kMs);
    text.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at,
                    at + 30 * kMs);
    if (has_stacks) {
      text.slice("python_function", "dataloader.py(1300): _next_data", at + kMs, at + 30 * kMs);
      text.slice("python_function", "<built-in method poll>", at + 2 * kMs, at + 29 * kMs);
    }
    text.cpu_op("aten::mm", at + 30 * kMs, at + 50 * kMs);
  }
  return text;
}

TEST(Replay, WorkersAreAsFastAsTheyWere) {
  for (const bool has_stacks : {false, true}) {
    const auto scaled = [&](double compute, double loader) {
      const Analysis analysis = analysis_of(waits_for_workers(has_stacks));
      Change change(*analysis.trace);
      change.loader_factor = loader;
      for (uint32_t i = 0; i < analysis.trace->slice_count(); ++i) {
        const bool computes = name_of(*analysis.trace, SliceId{i}) == "aten::mm";
        change.scale(SliceId{i}, computes ? compute : loader);
      }
      std::vector<int64_t> lengths = replay(analysis, change);
      for (int64_t& each : lengths) each /= kMs;
      return lengths;
    };
    EXPECT_THAT(scaled(1, 1), ElementsAre(50, 50, 50));
    // From the second on, a batch takes its worker 50 ms.
    EXPECT_THAT(scaled(0.5, 1), ElementsAre(40, 50, 50));
    EXPECT_THAT(scaled(1, 0.5), ElementsAre(35, 25, 25));
  }
}

TEST(Replay, ARecordingThatDoesNotChangeIsAsLongAsItWas) {
  const std::filesystem::path folder = redline::testing::shared_dir() + "/traces";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared traces here";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const auto trace = read_trace(file.path().string());
    ASSERT_TRUE(trace) << file.path();
    const Analysis analysis = analyze(*trace);
    std::vector<int64_t> lengths;
    for (const Step& step : analysis.steps) lengths.push_back(step.window.length_ns());
    EXPECT_EQ(replay(analysis, Change(**trace)), lengths) << file.path();
    // Of a part of the steps, too.
    const size_t half = (lengths.size() + 1) / 2;
    lengths.resize(half);
    EXPECT_EQ(replay(analysis, Change(**trace), half), lengths) << file.path();
  }
}

}  // namespace
}  // namespace redline::trace
