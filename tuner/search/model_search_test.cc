#include <gtest/gtest.h>

#include "tuner/search/strategy.h"
#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

class ModelSearchOf : public ::testing::Test {
 protected:
  void add(const Config& config, double rate, double expected, const std::string& why) {
    TrialResult result = ran_at(rate, 0.01 * rate);
    if (expected > 0) {
      result.expected = Expectation{.score = {expected, 0.85 * expected, 1.15 * expected}};
    }
    add_trial(history_, config, result, why);
  }
  [[nodiscard]] std::string why_next() const {
    const auto next =
        make_model(space_, {.machine = {.cores = 2}, .memory_limit_bytes = {}})->ask(history_);
    return next ? next->why : "";
  }
  static Config config(const std::string& batch, const std::string& threads) {
    return {{"batch_size", batch}, {"num_threads", threads}};
  }

  Space space_ = *make_space({"batch_size=8,16,32,64", "num_threads=1,2"},
                             {"train", "{batch_size}{num_threads}"}, {.gpu = false, .cores = 2});
  History history_{space_};
};

TEST_F(ModelSearchOf, ATrialMuchSlowerThanExpectedRunsOnceMoreBeforeItsValuesAreDismissed) {
  add(config("16", "1"), 2750, 0, "default");
  add(config("16", "2"), 380, 2300, "compute limits: num_threads 2");
  EXPECT_EQ(why_next(), kOnceMore);
  add(config("16", "2"), 2330, 1400, kOnceMore);
  EXPECT_NE(why_next(), kOnceMore) << "it ran twice";
}

TEST_F(ModelSearchOf, ATrialWithinNoiseOfWhatWasExpectedDoesNotRunAgain) {
  add(config("16", "1"), 2750, 0, "default");
  add(config("16", "2"), 2000, 2300, "compute limits: num_threads 2");
  EXPECT_NE(why_next(), kOnceMore);
}

TEST_F(ModelSearchOf, BeforeItEndsItTriesBesideTheBestWhatWasSlowElsewhere) {
  add(config("8", "1"), 1000, 0, "default");
  for (const int run : {1, 2}) add(config("8", "2"), 100 + run, 0, "compute limits: num_threads 2");
  for (const char* batch : {"16", "32", "64"}) {
    add(config(batch, "1"), 125 * std::stod(batch), 0, "compute limits: batch_size");
  }
  const auto next =
      make_model(space_, {.machine = {.cores = 2}, .memory_limit_bytes = {}})->ask(history_);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->config, config("64", "2"));
}

TEST(ModelSearch, SaysThatNothingIsLeftToTry) {
  const Space space = *make_space({"x=1,2"}, {"train", "{x}"}, {});
  History history(space);
  const auto model = make_model(space, {.machine = {.cores = 2}, .memory_limit_bytes = {}});
  add_trial(history, {{"x", "1"}}, ran_at(100, 1), "first");
  EXPECT_NE(model->why_ended(history), "Every configuration was tried.");
  add_trial(history, {{"x", "2"}}, ran_at(90, 1), "x 2");
  EXPECT_EQ(model->why_ended(history), "Every configuration was tried.");
}

}  // namespace
}  // namespace redline::tuner
