#include "tuner/search/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

/// The batch sizes that are candidates after one trial.
std::set<int64_t> batches_after(int64_t batch, const std::string& range = "1..1024") {
  const Space space =
      *make_space({"batch_size=" + range}, {"python", "train.py"}, {.gpu = true, .cores = 16});
  const SearchSettings settings{.machine = {.gpu = true, .gpus = 1, .cores = 16},
                                .memory_limit_bytes = {}};
  History history(space);
  add_trial(history, {{"batch_size", std::to_string(batch)}}, ran_at(1000, 10), "default");
  Outlook outlook(space, settings, history);
  std::set<int64_t> batches;
  for (const Config& config : Candidates(outlook).collect(0.02)) {
    batches.insert(*parse_integer(config.at("batch_size")));
  }
  return batches;
}

TEST(Candidates, HaveTheLastStepsToALimitAboveTheBest) {
  const std::set<int64_t> batches = batches_after(160);
  for (const int64_t close : {162, 165, 167, 168, 176}) EXPECT_TRUE(batches.contains(close));
  EXPECT_FALSE(batches.contains(161)) << "a step of less than one per cent";
  EXPECT_FALSE(batches.contains(155)) << "below the best even sizes suffice";
  EXPECT_TRUE(batches.contains(1024));
}

TEST(Candidates, OfAWideRangeAreFewOnBothSidesOfZero) {
  const std::vector<std::string> values = candidate_values(*parse_knob("x=-1000000..1000000"));
  EXPECT_LT(values.size(), 1000);
  EXPECT_EQ(values.front(), "-1000000");
  EXPECT_EQ(values.back(), "1000000");
  for (const char* small : {"-17", "-1", "0", "1", "17"}) {
    EXPECT_EQ(std::count(values.begin(), values.end(), small), 1) << small;
  }
}

TEST(Candidates, AreWithinTheRange) {
  const std::set<int64_t> batches = batches_after(1020);
  EXPECT_EQ(*batches.rbegin(), 1024);
  EXPECT_EQ(*batches_after(32, "64..512").begin(), 64) << "the script's own 32 lies below it";
  EXPECT_EQ(*batches_after(1000, "64..512").rbegin(), 512);
}

}  // namespace
}  // namespace redline::tuner
