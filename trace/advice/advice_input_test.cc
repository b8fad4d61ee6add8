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
using ::testing::HasSubstr;
using ::testing::Not;

TEST(AdviceInput, DataLoaderWait) {
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

TEST(AdviceInput, OfSeveralLoadersTheOneThatTakesLongerCounts) {
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

TEST(AdviceInput, DataLoaderWaitTellsWhatTheWorkersDo) {
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

TEST(AdviceInput, WorkersAreAsManyAsTheMachineHasCores) {
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

TEST(AdviceInput, WorkersAreNoCureOfBatchesThatAreMadeAtOnce) {
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

TEST(AdviceInput, BatchesAreFromTheRecordedOneOn) {
  const auto knob = [](const std::string& top) {
    TraceText text = one_step().rank(0, 2).slice("user_annotation", "gloo:all_reduce", 0, 30 * kMs,
                                                 {.tid = "2"});
    if (!top.empty()) text.top(top);
    return advice_on(text).at(0).knob;
  };
  EXPECT_EQ(knob(R"("redline": {"samples_per_step": 48})"), "batch_size=24..512");
  EXPECT_EQ(knob(""), "batch_size=1..4096");
}

TEST(AdviceInput, WaitsWhereAnEpochBegins) {
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

TEST(AdviceInput, AStallWithinALoaderIsNoCostOfItsBatches) {
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

TEST(AdviceInput, PageableCopies) {
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

}  // namespace
}  // namespace redline::trace
