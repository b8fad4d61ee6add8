#include "trace/model/thread_cursor.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/trace_text.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

using redline::testing::TraceText;

// What the thread did just before a time, computed by looking at every lane anew.
ThreadMoment moment_before(const Trace& trace, int64_t time_ns) {
  const auto& slices = trace.slices();
  ThreadMoment moment{SliceId::none(), INT64_MIN, SliceId::none()};
  for (const Lane& lane : trace.lanes()) {
    SliceId last;
    for (uint32_t i = lane.first.value; i < lane.first.value + lane.count; ++i) {
      if (slices.begin_ns[i] < time_ns) last = SliceId{i};
    }
    if (!last) break;
    if (slices.end_ns[last.value] < time_ns) {
      if (slices.end_ns[last.value] > moment.since_ns) {
        moment.since_ns = slices.end_ns[last.value];
        moment.ended = last;
      }
      break;
    }
    moment.inside = last;
    moment.since_ns = slices.begin_ns[last.value];
  }
  return moment;
}

TEST(ThreadCursor, IsWhereAFreshLookFindsTheThread) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    TraceText text;
    for (int i = 0; i < 40; ++i) {
      const int64_t begin_ns = random() % 300;
      text.cpu_op("op", begin_ns, begin_ns + static_cast<int64_t>(random() % 90));
    }
    const auto trace = *parse_trace("test", text.str());
    ThreadCursor cursor(*trace, trace->tracks().front());
    for (int64_t time_ns = 420; time_ns > -5; time_ns -= static_cast<int64_t>(random() % 9)) {
      const ThreadMoment found = cursor.before(time_ns);
      const ThreadMoment expected = moment_before(*trace, time_ns);
      ASSERT_EQ(found.inside, expected.inside) << "round " << round << " at " << time_ns;
      ASSERT_EQ(found.since_ns, expected.since_ns) << "round " << round << " at " << time_ns;
      ASSERT_EQ(found.ended, expected.ended) << "round " << round << " at " << time_ns;
    }
  }
}

}  // namespace
}  // namespace redline::trace
