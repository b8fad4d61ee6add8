#include "viewer/models/summary.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "viewer/models/test_trace.h"

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

TEST(Summary, CardsAreTheReportsFindings) {
  const std::string path = REDLINE_SHARED_DIR "/traces/resnet50_v100_workers0.pt.trace.json.gz";
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

TEST(Summary, NothingGivesNothing) {
  const Summary summary = summarize(trace::Report{});
  EXPECT_TRUE(summary.step.empty());
  EXPECT_TRUE(summary.parts.empty());
  EXPECT_TRUE(summary.cards.empty());
}

}  // namespace
}  // namespace redline::viewer
