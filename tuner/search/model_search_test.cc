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
    result.neighbours = neighbours_;
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
  int neighbours_ = 0;
};

TEST_F(ModelSearchOf, WhatTheFirstTrialsSideBySideLoseByNeighboursIsNoSurprise) {
  add(config("16", "1"), 2750, 0, "default");
  neighbours_ = 1;
  add(config("16", "2"), 380, 2300, "compute limits: num_threads 2");
  EXPECT_NE(why_next(), kOnceMore);
  add(config("32", "1"), 2300, 2300, "compute limits: batch_size 32");
  add(config("32", "2"), 380, 2300, "compute limits: batch_size 32, num_threads 2");
  EXPECT_EQ(why_next(), kOnceMore) << "two others had shown what neighbours cost";
}

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

TEST(ModelSearch, WithSlowDefaultsItTriesWhatMayBeFasterAndNamesTheBatchThatTakesTooLong) {
  const auto after = [](const std::vector<std::string>& knobs, const Config& first) {
    const Space space = *make_space(knobs, {"train", "{delay}", "{batch_size}"}, {});
    const auto model = make_model(space, {.machine = {.cores = 2},
                                          .memory_limit_bytes = {},
                                          .longest_measurement = std::chrono::seconds(40),
                                          .steps_a_trial = 10});
    History history(space);
    add_trial(history, first, ran_at(6.4, 0.01), "default");  // five seconds a step
    const auto next = model->ask(history);
    return next ? value_of(next->config, "batch_size") : model->why_ended(history);
  };
  EXPECT_EQ(after({"delay=5,1", "batch_size=32,64"}, {{"batch_size", "32"}, {"delay", "5"}}), "32");
  EXPECT_EQ(after({"batch_size=32,64", "delay=5"}, {{"batch_size", "32"}, {"delay", "5"}}),
            "No other configuration is worth a trial: the steps of batch_size 64 would take longer "
            "than a trial may measure, and what is shorter is expected to gain less than 0.2 %. "
            "Give a longer --budget and --trial-timeout.");
}

TEST(ModelSearch, ARateThatIsTooLargeForANumberIsNotExpected) {
  const Space space = *make_space({"batch_size=1..4096"}, {"train", "{batch_size}"}, {});
  History history(space, Objective::kMetric);
  add_trial(history, {{"batch_size", "32"}}, ran_at(1e308), "first");
  const auto next =
      make_model(space, {.machine = {.cores = 2}, .memory_limit_bytes = {}})->ask(history);
  ASSERT_TRUE(next);
  EXPECT_FALSE(next->expected) << "a study could not keep it";
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
