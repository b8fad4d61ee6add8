#include "viewer/models/summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/paths.h"
#include "trace/report/diff.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

TEST(Summary, PartsFillTheStep) {
  const trace::Report report = trace::make_report({training_trace(0).read()});
  const Summary summary = summarize(report);
  double sum = 0;
  for (const SummaryPart& part : summary.parts) sum += part.share;
  EXPECT_NEAR(sum, 1, 0.005);
  ASSERT_FALSE(summary.parts.empty());
  EXPECT_EQ(summary.parts.front().name, "kernel");
  EXPECT_EQ(summary.parts.front().slice_class, SliceClass::kCompute);
  EXPECT_NE(summary.spread.find("2 steps"), std::string::npos) << summary.spread;
  EXPECT_FALSE(summary.step.empty());
  EXPECT_EQ(summary.figures.front().label, "GPU busy");
}

TEST(Summary, SaysFirstWhatAReaderMustKnowOfTheTraces) {
  const auto of = [](int rank, const char* top, bool has_kernel) {
    testing::TraceText text;
    text.rank(rank, 3, "nccl").top(top).step(0, 0, 1'000'000).cpu_op("aten::mm", 0, 600'000);
    text.runtime("cudaLaunchKernel", 100, 200, 1);
    if (has_kernel) text.kernel("gemm", 300, 900'000, testing::on_stream(7, 1));
    return *trace::parse_trace("rank.json", text.str());
  };
  Summary summary = summarize(trace::make_report({of(0, R"("x": 1)", false)}));
  EXPECT_EQ(summary.notes, (std::vector<std::string>{
                               "GPU work was not recorded: times are those of the host, which does "
                               "not wait for the GPU"}));
  EXPECT_TRUE(summary.cards.empty());
  EXPECT_EQ(summary.without_cards, "Most rules need to know what the GPU did.");
  const char* lossy = R"("redline": {"dropped": 5000, "gpu": {"off_after": "Nsight"}})";
  EXPECT_EQ(summarize(trace::make_report({of(0, lossy, true)})).notes,
            (std::vector<std::string>{
                "Dropped 5,000 events while recording rank 0: all figures lack them",
                "GPU work was recorded in part (Nsight): GPU times and shares are too small"}));
  const auto torn = *trace::parse_trace("rank2.json", testing::TraceText().rank(2, 3).str());
  summary =
      summarize(trace::make_report({of(0, R"("x": 1)", true), of(1, R"("x": 1)", true), torn}));
  EXPECT_EQ(summary.notes, (std::vector<std::string>{"Nothing was recorded of rank 2: means are of "
                                                     "the other ranks"}));
  EXPECT_EQ(summarize(trace::make_report({torn, of(1, lossy, false)})).notes.size(), 3U);
  EXPECT_TRUE(summarize(trace::make_report({training_trace(0).read()})).notes.empty());
}

TEST(Summary, StepsAreThoseOfAllWindowsOfARank) {
  trace::Traces traces{training_trace(0).read(), training_trace(0, 1'000'250).read()};
  EXPECT_TRUE(summarize(trace::make_report(traces)).spread.ends_with("· 4 steps"));
  traces.push_back(training_trace(1).read());
  EXPECT_TRUE(summarize(trace::make_report(traces)).spread.ends_with("· 4 steps · 2 ranks"));
}

TEST(Summary, CardsAreTheReportsFindings) {
  const std::string path =
      redline::testing::shared_dir() + "/traces/resnet50_v100_workers0.pt.trace.json.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared traces here";
  const auto trace = trace::read_trace(path);
  ASSERT_TRUE(trace);
  const trace::Report report = trace::make_report({*trace});
  const Summary summary = summarize(report);
  ASSERT_EQ(summary.cards.size(), report.findings.size());
  ASSERT_FALSE(summary.cards.empty());
  EXPECT_EQ(summary.cards.front().headline, report.findings.front().headline);
  EXPECT_NE(summary.cards.front().gain.find("×"), std::string::npos);
  EXPECT_FALSE(summary.cards.front().evidence.empty());
}

TEST(Summary, EachCardHasEvidenceToLookAt) {
  trace::Report report = trace::make_report({training_trace(0).read()});
  trace::Finding gap, nothing;
  gap.events = {{trace::SliceId::none(), 1'000'010'000, 1'000'030'000, "GPU idle"}};
  report.findings = {gap, nothing};
  const Summary summary = summarize(report);
  ASSERT_EQ(summary.cards.size(), 2U);
  EXPECT_EQ(summary.cards[0].time.begin_ns, 1'000'010'000);
  EXPECT_EQ(summary.cards[0].time.length_ns(), 20'000);
  EXPECT_EQ(summary.cards[1].time.begin_ns, report.analyses[0].steps[0].window.begin_ns)
      << "what is true of all steps is shown by one";
}

TEST(Summary, ACardSaysItsGainAndItsEvidence) {
  trace::Report report = trace::make_report({training_trace(0).read()});
  const auto card = [&report](const trace::Finding& finding) {
    report.findings = {finding};
    return summarize(report).cards.at(0);
  };
  const auto gain = [&card](const std::optional<double>& speedup) {
    trace::Finding finding;
    finding.estimated_speedup = speedup;
    return card(finding).gain;
  };
  EXPECT_EQ(gain(1.234), "1.23 ×");
  EXPECT_EQ(gain(9.99), "9.99 ×");
  EXPECT_EQ(gain(15.25), "15.25 ×") << "as in reports";
  EXPECT_EQ(gain(123.4), "123 ×");
  EXPECT_EQ(gain(INFINITY), "");
  EXPECT_EQ(gain(std::nullopt), "");
  trace::Finding finding;
  finding.evidence = {{"idle_ns", 1'500}, {"busy_share", 0.25}, {"calls", 3}};
  EXPECT_EQ(card(finding).evidence, "idle: 1.50 µs\nbusy: 25.0 %\ncalls: 3");
  for (const auto& [slice, end_ns, is_idle] :
       {std::tuple(trace::SliceId::none(), 20, true), std::tuple(trace::SliceId::none(), 10, false),
        std::tuple(trace::SliceId{3}, 20, false)}) {
    finding.events = {{slice, 10, end_ns, "here"}, {trace::SliceId{4}, 30, 40, "there"}};
    if (!slice) finding.events.pop_back();
    EXPECT_EQ(card(finding).is_idle, is_idle) << end_ns;
    EXPECT_EQ(card(finding).slice, slice) << "the first";
    EXPECT_EQ(card(finding).time.end_ns, end_ns);
  }
}

TEST(Summary, PartsOfLessThanATwentiethPerCentAreLeftOut) {
  trace::Report report = trace::make_report({training_trace(0).read()});
  for (const int64_t small : {5, 4}) {
    auto& parts = report.traces[0].breakdown.part_ns;
    std::fill(parts.begin(), parts.end(), 0);
    parts[0] = 10'000 - small;
    parts[1] = small;
    EXPECT_EQ(summarize(report).parts.size(), small == 5 ? 2U : 1U) << small;
  }
}

TEST(Summary, WithoutMarkedStepsNoneIsAverage) {
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::mm", 1, 1, 0, 100);
  const Summary summary = summarize(trace::make_report({trace.read()}));
  EXPECT_EQ(summary.title, "First to last operator");
  EXPECT_EQ(summary.step, "100.0 µs");
  EXPECT_EQ(summary.spread, "no steps are marked");
  EXPECT_EQ(summarize(trace::make_report({training_trace(0).read()})).title, "Average step");
}

TEST(Summary, NothingGivesNothing) {
  const Summary summary = summarize(trace::Report{});
  EXPECT_TRUE(summary.step.empty());
  EXPECT_TRUE(summary.parts.empty());
  EXPECT_TRUE(summary.cards.empty());
  trace::Report report = trace::make_report({training_trace(0).read()});
  report.traces[0].step_times = {};
  EXPECT_TRUE(summarize(report).step.empty()) << "no step was measured";
}

}  // namespace

}  // namespace redline::viewer
