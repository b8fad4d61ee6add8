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

}  // namespace
}  // namespace redline::tuner
