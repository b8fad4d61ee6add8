#include "trace/model/thread_cursor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/trace_text.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

using redline::testing::TraceText;

// What the thread did just before a time, computed by looking at every slice anew.
ThreadMoment moment_before(const Trace& trace, int64_t time_ns) {
  const auto& slices = trace.slices();
  ThreadMoment moment{SliceId::none(), SliceId::none(), INT64_MIN, SliceId::none()};
  int64_t work_ns = INT64_MIN;
  for (const Lane& lane : trace.lanes()) {
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      const bool is_open = slices.begin_ns[i] < time_ns && slices.end_ns[i] >= time_ns;
      if (is_open && slices.category[i] == Category::kCpuOp && slices.begin_ns[i] >= work_ns) {
        moment.work = SliceId{i};
        work_ns = slices.begin_ns[i];
      }
      if (!is_open || slices.begin_ns[i] < moment.since_ns) continue;
      moment.inside = SliceId{i};
      moment.since_ns = slices.begin_ns[i];
    }
  }
  for (const Lane& lane : trace.lanes()) {
    SliceId last;  // of those that ended
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      if (slices.end_ns[i] < time_ns) last = SliceId{i};
    }
    if (!last || slices.end_ns[last.value] <= moment.since_ns) continue;
    moment.ended = last;
    moment.since_ns = slices.end_ns[last.value];
  }
  return moment;
}

struct Span {
  int64_t begin_ns, end_ns;
  [[nodiscard]] bool nests_with(const Span& other) const {
    return end_ns <= other.begin_ns || other.end_ns <= begin_ns ||
           (begin_ns >= other.begin_ns && end_ns <= other.end_ns) ||
           (other.begin_ns >= begin_ns && other.end_ns <= end_ns);
  }
};

class ThreadCursors : public ::testing::TestWithParam<bool> {};

TEST_P(ThreadCursors, AreWhereAFreshLookFindsTheThread) {
  const bool only_nested = GetParam();
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    TraceText text;
    std::vector<Span> spans;
    for (int i = 0; i < 40; ++i) {
      const int64_t begin_ns = random() % 300;
      const Span span{begin_ns, begin_ns + static_cast<int64_t>(random() % 90)};
      const auto nests = [&](const Span& other) { return span.nests_with(other); };
      if (only_nested && !std::ranges::all_of(spans, nests)) continue;
      spans.push_back(span);
      text.slice(random() % 2 == 0 ? "cpu_op" : "python_function", "op", span.begin_ns,
                 span.end_ns);
    }
    const auto trace = *parse_trace("test", text.str());
    ThreadCursor cursor(*trace, trace->tracks().front());
    for (int64_t time_ns = 420; time_ns > -5; time_ns -= static_cast<int64_t>(random() % 9)) {
      const ThreadMoment found = cursor.before(time_ns);
      const ThreadMoment expected = moment_before(*trace, time_ns);
      ASSERT_EQ(found.inside, expected.inside) << "round " << round << " at " << time_ns;
      ASSERT_EQ(found.work, expected.work) << "round " << round << " at " << time_ns;
      ASSERT_EQ(found.since_ns, expected.since_ns) << "round " << round << " at " << time_ns;
      ASSERT_EQ(found.ended, expected.ended) << "round " << round << " at " << time_ns;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(NestedOrNot, ThreadCursors, ::testing::Bool());

}  // namespace
}  // namespace redline::trace
