#include "viewer/models/roofline.h"

#include <gtest/gtest.h>

#include "tests/trace_text.h"
#include "trace/read/reader.h"
#include "viewer/models/analyse.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

using testing::on_stream;
using testing::TraceText;

TraceText of_h100() {
  TraceText text;
  text.top(R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}])");
  return text;
}

// A product of 2e9 operations; its kernel takes `length_ns`, its operator `host_ns`.
void add_product(TraceText& text, uint32_t number, const char* type, int64_t length_ns,
                 int64_t host_ns = 40'000) {
  const int64_t at_ns = number * 100'000;
  text.cpu_op("aten::mm", at_ns, at_ns + host_ns,
              {.args = fmt::format(R"("Input Dims": [[1000, 1000], [1000, 1000]], )"
                                   R"("Input type": ["{0}", "{0}"])",
                                   type)});
  text.runtime("cudaLaunchKernel", at_ns + 2'000, at_ns + 3'000, number);
  text.kernel("nvjet", at_ns + 5'000, at_ns + 5'000 + length_ns, on_stream(7, number));
}

Session parsed_session(const TraceText& text) {
  return Session({*trace::parse_trace("one", text.str())});
}

// On an H100 one in 4 us and one in 40 us.
Session products() {
  TraceText text = of_h100();
  add_product(text, 1, "c10::BFloat16", 4'000);
  add_product(text, 2, "c10::Half", 40'000);
  return parsed_session(text);
}

TEST(Roofline, TheMostLostTimeIsFirstAndRowsLeadToTheirCalls) {
  const Session session = products();
  const Table table = roofline_table(session, *analyse_session(session).report);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].name, "mm 1000x1000, 1000x1000");
  EXPECT_EQ(value_text(table.rows[0].values[2], Unit::kShare), "5.1 %");
  EXPECT_EQ(value_text(table.rows[0].values[3], Unit::kText), "compute");
  EXPECT_EQ(value_text(table.rows[1].values[2], Unit::kShare), "50.5 %");
  EXPECT_EQ(cell_text(table, 0, "TFLOP/s"), "50.0");
  EXPECT_EQ(table.rows[0].values[6].kind(), TableValue::Kind::kReal) << "so that it can be sorted";
  EXPECT_EQ(session.name_of(table.rows[0].slice), "aten::mm");
  EXPECT_NE(table.rows[0].slice, table.rows[1].slice);
}

TEST(Roofline, ARowLeadsToItsLongestCall) {
  TraceText text = of_h100();
  add_product(text, 1, "c10::BFloat16", 4'000, 30'000);
  add_product(text, 2, "c10::Half", 40'000, 50'000);
  add_product(text, 3, "c10::BFloat16", 4'000, 32'000);
  add_product(text, 4, "c10::Half", 40'000, 48'000);
  add_product(text, 5, "c10::BFloat16", 4'000, 31'000);
  const Session session = parsed_session(text);
  const Table table = roofline_table(session, *analyse_session(session).report);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(session.range_of(table.rows[0].slice).span_ns(), 50'000) << "the halves lost more";
  EXPECT_EQ(session.range_of(table.rows[1].slice).span_ns(), 32'000);
}

TEST(Roofline, CirclesAreUnderTheRoof) {
  const Session session = products();
  const RooflinePicture picture = roofline_picture(*analyse_session(session).report);
  ASSERT_EQ(picture.plot.circles.size(), 2U);
  ASSERT_EQ(picture.hints.size(), 2U);
  EXPECT_EQ(picture.hints[0], "mm 1000x1000, 1000x1000: 50.0 TFLOP/s, 5.1 % of peak, 40.0 us");
  ASSERT_EQ(picture.plot.roofs.size(), 1U) << "bf16 and fp16 have one peak";
  for (const auto& circle : picture.plot.circles) {
    EXPECT_LT(circle.y, picture.plot.roofs[0].peak_y);
    EXPECT_GE(circle.x, 0);
    EXPECT_LE(circle.x, 1);
  }
  EXPECT_EQ(picture.plot.circles[0].share, 1);
  EXPECT_LT(picture.plot.circles[1].share, 0.2);
}

TEST(Roofline, OfSeveralRanksRowsAndCirclesSayWhose) {
  std::vector<std::shared_ptr<const trace::Trace>> ranks;
  for (const int rank : {0, 1}) {
    TraceText text = of_h100();
    text.rank(rank, 2, "nccl");
    add_product(text, 1, "c10::Half", rank == 0 ? 20'000 : 40'000);
    ranks.push_back(*trace::parse_trace(fmt::format("rank{}", rank), text.str()));
  }
  const Session session(ranks);
  const auto report = analyse_session(session).report;
  const Table table = roofline_table(session, *report);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].name, "mm 1000x1000, 1000x1000 of rank 1") << "it lost more";
  EXPECT_EQ(table.rows[1].name, "mm 1000x1000, 1000x1000 of rank 0");
  const RooflinePicture picture = roofline_picture(*report);
  ASSERT_EQ(picture.hints.size(), 2U);
  EXPECT_EQ(picture.hints[0].rfind("mm 1000x1000, 1000x1000 of rank 1: ", 0), 0U);
}

TEST(Roofline, WhatTookNoTimeHasNoRate) {
  const Session session = products();
  trace::Report report = *analyse_session(session).report;
  for (const int64_t device_ns : {1, 0}) {
    report.traces.at(0).shapes.rows.at(0).device_ns = device_ns;
    EXPECT_EQ(roofline_table(session, report).rows.size(), device_ns == 0 ? 1U : 2U);
  }
}

TEST(Roofline, StopsWhenItIsCancelled) {
  const Session session = products();
  const auto report = analyse_session(session).report;
  const std::atomic<bool> cancelled{true};
  EXPECT_TRUE(roofline_table(session, *report, &cancelled).rows.empty());
}

TEST(Roofline, WithoutShapesThereIsNothing) {
  TraceText text;
  text.cpu_op("aten::mm", 0, 40'000);
  const Session session = parsed_session(text);
  const auto report = analyse_session(session).report;
  EXPECT_TRUE(roofline_table(session, *report).rows.empty());
  EXPECT_TRUE(roofline_picture(*report).plot.empty());
}

}  // namespace
}  // namespace redline::viewer
