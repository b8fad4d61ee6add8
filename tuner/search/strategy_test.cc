// The simple strategies, trial by trial.
#include "tuner/search/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

using ::testing::ElementsAre;

/// Rate of a configuration; nullopt if it runs out of memory.
using Rate = std::function<std::optional<double>(const Config&)>;

/// What the strategy asks after a first trial, until it ends.
std::vector<std::string> asked(const std::string& name, const std::vector<std::string>& knobs,
                               const Config& first, const Rate& rate) {
  const Space space = *make_space(knobs, {"python", "train.py"}, {});
  const auto strategy = make_strategy(name, space, {});
  History history(space);
  std::vector<std::string> texts;
  std::optional<Proposal> next = Proposal{first, "default"};
  while (next && texts.size() < 50) {
    const auto its = rate(history.effective(next->config));
    add_trial(history, next->config, its ? ran_at(*its) : ended_with(Outcome::kGpuOom));
    next = strategy->ask(history);
    if (next) texts.push_back(config_text(history.effective(next->config), " "));
  }
  return texts;
}

double number(const Config& config, const std::string& knob) {
  return static_cast<double>(*number_of(config, knob));
}

TEST(Strategies, GridTakesTheEndsOfARangeAndThePowersOfTwoBetween) {
  const auto one = [](const Config&) { return 1; };
  EXPECT_THAT(
      asked("grid", {"batch_size=3..20", "amp=off,bf16"}, {{"batch_size", "3"}, {"amp", "off"}},
            one),
      ElementsAre("amp bf16 batch_size 3", "amp off batch_size 4", "amp bf16 batch_size 4",
                  "amp off batch_size 8", "amp bf16 batch_size 8", "amp off batch_size 16",
                  "amp bf16 batch_size 16", "amp off batch_size 20", "amp bf16 batch_size 20"));
  EXPECT_THAT(asked("grid", {"num_workers=0..2"}, {{"num_workers", "2"}}, one),
              ElementsAre("num_workers 0", "num_workers 1"));
}

TEST(Strategies, CoordinateClimbsUpAndThenDown) {
  const auto rate = [](const Config& config) {
    return 100 - std::abs(std::log2(number(config, "batch_size") / 16)) -
           std::abs(number(config, "num_workers") - 1);
  };
  EXPECT_THAT(asked("coordinate", {"batch_size=1..64", "num_workers=0..8"},
                    {{"batch_size", "4"}, {"num_workers", "4"}}, rate),
              ElementsAre("batch_size 8 num_workers 4", "batch_size 16 num_workers 4",
                          "batch_size 32 num_workers 4", "batch_size 16 num_workers 8",
                          "batch_size 16 num_workers 2", "batch_size 16 num_workers 1",
                          "batch_size 16 num_workers 0", "batch_size 32 num_workers 1",
                          "batch_size 8 num_workers 1"));
}

TEST(Strategies, CoordinateAsksNotAgainWhatClearlyLost) {
  const auto rate = [](const Config& config) {
    return (number(config, "batch_size") == 8 ? 100 : 50) * (number(config, "num_workers") + 10);
  };
  EXPECT_THAT(asked("coordinate", {"batch_size=1..64", "num_workers=0..2"},
                    {{"batch_size", "8"}, {"num_workers", "0"}}, rate),
              ElementsAre("batch_size 16 num_workers 0", "batch_size 4 num_workers 0",
                          "batch_size 8 num_workers 1", "batch_size 8 num_workers 2"));
}

TEST(Strategies, CoordinateGoesToTheNextListedValueHoweverFar) {
  const auto rate = [](const Config& config) {
    return 100 - std::abs(number(config, "batch_size") - 30);
  };
  EXPECT_THAT(asked("coordinate", {"batch_size=1,30,100"}, {{"batch_size", "30"}}, rate),
              ElementsAre("batch_size 100", "batch_size 1"));
}

TEST(Strategies, CoordinateStaysWithDefaultsThatAreALittleFaster) {
  const auto rate = [](const Config& config) {
    return 100 - std::abs(std::log2(number(config, "batch_size") / 16));
  };
  EXPECT_THAT(asked("coordinate", {"batch_size=1..64"}, {{"batch_size", "16"}}, rate),
              ElementsAre("batch_size 32", "batch_size 8"));
}

TEST(Strategies, CoordinateLeavesDefaultsThatDoNotRun) {
  const auto rate = [](const Config& config) {
    return config.at("amp") == "bf16" ? std::optional(1.0) : std::nullopt;
  };
  EXPECT_THAT(asked("coordinate", {"amp=off,bf16", "num_workers=0,1"},
                    {{"amp", "off"}, {"num_workers", "0"}}, rate),
              ElementsAre("amp bf16 num_workers 0", "amp bf16 num_workers 1"));
}

}  // namespace
}  // namespace redline::tuner
