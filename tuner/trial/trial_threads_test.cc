#include "tuner/trial/trial_threads.h"

#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

TEST(TrialThreads, EndTheTrialsThatStillRun) {
  StopRequest seen = StopRequest::kNone;
  const TrialRunner until_it_is_stopped = [&](const TrialSpec&, const auto& stop, const auto&) {
    while (stop == StopRequest::kNone) std::this_thread::yield();
    seen = stop;
    return TrialResult();
  };
  { TrialThreads(until_it_is_stopped).start(0, {}); }
  EXPECT_EQ(seen, StopRequest::kEnd);
}

TEST(TrialThreads, ATrialRunsUntilItsResultWasTaken) {
  const TrialRunner reports_once = [](const TrialSpec& spec, const auto&, const auto& on_progress) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // next() waits by then
    on_progress({.phase = "measuring", .steps = spec.id, .samples_per_s = std::nullopt});
    TrialResult result;
    result.steps = 10 * spec.id;
    return result;
  };
  TrialThreads threads(reports_once);
  EXPECT_EQ(threads.running(), 0U);
  TrialSpec spec;
  spec.id = 7;
  threads.start(3, spec);
  EXPECT_EQ(threads.running(), 1U);
  const auto progress = threads.next(std::chrono::hours(1));
  ASSERT_TRUE(progress && std::holds_alternative<TrialProgress>(progress->what));
  EXPECT_EQ(std::get<TrialProgress>(progress->what).steps, 7);
  EXPECT_EQ(progress->share, 3U);
  EXPECT_EQ(progress->id, 7);
  EXPECT_EQ(threads.running(), 1U);
  const auto result = threads.next(std::chrono::hours(1));
  ASSERT_TRUE(result && std::holds_alternative<TrialResult>(result->what));
  EXPECT_EQ(std::get<TrialResult>(result->what).steps, 70);
  EXPECT_EQ(result->share, 3U);
  EXPECT_EQ(result->id, 7);
  EXPECT_EQ(threads.running(), 0U);
  EXPECT_FALSE(threads.next(std::chrono::milliseconds(0))) << "it was its last event";
}

}  // namespace
}  // namespace redline::tuner
