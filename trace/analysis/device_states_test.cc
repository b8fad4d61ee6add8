#include "trace/analysis/gpus.h"

#include <gtest/gtest.h>

#include <tuple>

#include "tests/trace_text.h"
#include "trace/analysis/analysis.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using Span = std::tuple<int64_t, int64_t, DeviceState>;

class DeviceStates : public ::testing::Test {
 protected:
  DeviceStates()
      : analysis_(
            analyze(*parse_trace("t", TraceText()
                                          .kernel("k", 100, 400, on_stream(7))
                                          .kernel("ncclDevKernel_AllReduce", 300, 600, on_stream(8))
                                          .kernel("late", 900, 950, on_stream(7))
                                          .str()))) {}

  std::vector<Span> spans(std::optional<int32_t> device, Interval window) const {
    const int64_t begin_ns = analysis_.trace->begin_ns() - 100;
    window.begin_ns += begin_ns;
    window.end_ns += begin_ns;
    std::vector<Span> result;
    for (const DeviceSpan& span : device_states(analysis_.device_work, device, window)) {
      result.emplace_back(span.interval.begin_ns - begin_ns, span.interval.end_ns - begin_ns,
                          span.state);
    }
    return result;
  }

  Analysis analysis_;
};

TEST_F(DeviceStates, PartComputationFromCommunication) {
  const std::vector<Span> expected{{100, 300, DeviceState::kCompute},
                                   {300, 400, DeviceState::kOverlapped},
                                   {400, 600, DeviceState::kExposedCommunication},
                                   {900, 950, DeviceState::kCompute}};
  EXPECT_EQ(spans(0, {0, 1000}), expected);
  EXPECT_EQ(spans(std::nullopt, {0, 1000}), expected);
  EXPECT_TRUE(spans(1, {0, 1000}).empty());
}

TEST_F(DeviceStates, AreCutToTheWindow) {
  const std::vector<Span> expected{{350, 400, DeviceState::kOverlapped},
                                   {400, 500, DeviceState::kExposedCommunication}};
  EXPECT_EQ(spans(0, {350, 500}), expected);
  EXPECT_TRUE(spans(0, {200, 200}).empty());
}

}  // namespace
}  // namespace redline::trace
