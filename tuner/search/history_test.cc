#include "tuner/search/history.h"

#include <gtest/gtest.h>

#include "tuner/search/strategy.h"

namespace redline::tuner {
namespace {

FinishedTrial ended(Config config, Outcome outcome, Config observed) {
  FinishedTrial trial;
  trial.config = std::move(config);
  trial.result.outcome = outcome;
  trial.result.observed = std::move(observed);
  if (outcome == Outcome::kOk) trial.result.throughput = Throughput{100, 99, 101};
  return trial;
}

TEST(History, DefaultsAreWhatTheirRunsHaveToldTogether) {
  const Space space = *make_space({"batch_size=1..64", "amp=off,bf16"}, {"train"}, {});
  History history(space);
  EXPECT_TRUE(history.defaults().empty());
  history.add(ended({}, Outcome::kCrash, {}));
  history.add(ended({{"amp", "off"}}, Outcome::kOk, {{"batch_size", "8"}, {"amp", "off"}}));
  EXPECT_TRUE(history.defaults().empty()) << "of another configuration";
  history.add(ended({}, Outcome::kCrash, {{"batch_size", "8"}}));
  history.add(ended({}, Outcome::kOk, {{"batch_size", "16"}, {"amp", "off"}}));
  EXPECT_EQ(history.defaults(), (Config{{"batch_size", "8"}, {"amp", "off"}}));
  EXPECT_EQ(history.configs().size(), 1) << "amp off was the defaults under another name";
}

TEST(History, ABatchThatWasTooLargeIsFollowedByASmallerOne) {
  const Space space = *make_space({"batch_size=1..4096"}, {"train"}, {});
  History history(space);
  history.add(ended({}, Outcome::kHostOom, {{"batch_size", "64"}}));
  const auto next = make_staged(space, {})->ask(history);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->why, "smaller batch");
  EXPECT_EQ(next->config, (Config{{"batch_size", "16"}}));
}

/// What a climb from `value` of x tries first.
std::string first_step(const std::string& values, const std::string& value) {
  const Space space = *make_space({"x=" + values}, {"train", "{x}"}, {});
  History history(space);
  history.add(ended({{"x", value}}, Outcome::kOk, {}));
  const auto next = make_coordinate(space)->ask(history);
  return next ? next->config.at("x") : "nothing";
}

TEST(History, AClimbReachesValuesThatAreFarApart) {
  EXPECT_EQ(first_step("1,16", "1"), "16");
  EXPECT_EQ(first_step("0,4", "0"), "4");
  EXPECT_EQ(first_step("100,5,25", "25"), "100");
  EXPECT_EQ(first_step("5,25,100", "100"), "25");
  EXPECT_EQ(first_step("16,256", "256"), "16");
}

}  // namespace
}  // namespace redline::tuner
