#include "trace/analysis/loader_waits.h"

#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "trace/analysis/analysis.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

constexpr const char* kLoader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
constexpr const char* kAnnotation = "user_annotation";

int64_t waited_ns(const TraceText& text) {
  return analysis_of(text).breakdown.of(BreakdownPart::kDataLoader);
}

// Operators from 0 to 400 and from 700 to 1000 on the thread that trains.
TraceText step() {
  TraceText text;
  return text.step(0, 0, 1000).cpu_op("aten::mm", 0, 400).cpu_op("aten::add", 700, 1000);
}

TEST(LoaderWaits, AThreadThatReadsAheadIsWaitedForOnlyWhileNothingElseRuns) {
  const Row reader{.tid = "3"};
  const auto ahead = [&](TraceText text) {
    return text.slice(kAnnotation, kLoader, 100, 600, reader)
        .cpu_op("aten::stack", 350, 590, reader)
        .cpu_op("aten::copy_", 600, 650, reader);
  };
  EXPECT_EQ(waited_ns(ahead(step())), 200);
  EXPECT_EQ(waited_ns(ahead(step().cpu_op("MmBackward0", 500, 550, {.tid = "4"}))), 150);
  const Analysis analysis = analysis_of(ahead(step()));
  EXPECT_EQ(analysis.breakdown.of(BreakdownPart::kCpu), 750);
  EXPECT_EQ(analysis.breakdown.of(BreakdownPart::kOther), 50);
  const auto phases = host_phases(*analysis.trace, analysis.host_tree, analysis.steps);
  EXPECT_EQ(phases.at(0).dataloader_ns, 200);
}

TEST(LoaderWaits, TheThreadThatTrainsWaitsWhateverOthersDo) {
  const auto text = step()
                        .annotation(kLoader, 400, 600)
                        .cpu_op("aten::stack", 450, 500)
                        .cpu_op("aten::copy_", 420, 590, {.tid = "3"});
  EXPECT_EQ(waited_ns(text), 200);
}

TEST(LoaderWaits, WithoutStepsEveryLoaderIsWaitedFor) {
  const auto text =
      TraceText().cpu_op("aten::mm", 0, 1000).slice(kAnnotation, kLoader, 100, 600, {.tid = "3"});
  EXPECT_EQ(waited_ns(text), 500);
}

}  // namespace
}  // namespace redline::trace
