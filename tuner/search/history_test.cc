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

TEST(History, ABatchHasNoMoreThanARanksEpoch) {
  Space space = *make_space({"batch_size=1..4096"}, {"train"}, {});
  FinishedTrial trial = ended({}, Outcome::kOk, {});
  trial.result.ranks = 4;
  trial.result.readers = 2;  // tensor parallel ranks read the same samples
  trial.result.epoch_samples = 1000;
  learn_from(trial, space);
  EXPECT_EQ(space.find("batch_size")->high, 500);
}

TEST(History, ABatchThatWasTooLargeIsFollowedByASmallerOne) {
  const Space space = *make_space({"batch_size=1..4096"}, {"train"}, {});
  History history(space);
  history.add(ended({}, Outcome::kHostOom, {{"batch_size", "64"}}));
  const auto next = make_model(space, {})->ask(history);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->why, "smaller batch");
  EXPECT_EQ(next->config, (Config{{"batch_size", "16"}}));
}

TEST(History, WhatTrialsHaveInCommonIsToldByTheFirstThatRan) {
  const Space space = *make_space({"x=1,2,3,4"}, {"train", "{x}"}, {});
  History history(space);
  const auto add = [&](const char* x, Outcome outcome, int ranks) {
    FinishedTrial trial = ended({{"x", x}}, outcome, {});
    trial.result.ranks = ranks;
    history.add(std::move(trial));
  };
  add("4", Outcome::kGpuOom, 1);
  EXPECT_EQ(history.first_to_run().ranks, 1) << "nothing else is known";
  add("3", Outcome::kHostOom, 0);
  EXPECT_EQ(history.failed_risks(), 0) << "nothing that runs was known";
  add("2", Outcome::kOk, 2);
  add("1", Outcome::kOk, 3);
  EXPECT_EQ(history.first_to_run().ranks, 2);
  add("3", Outcome::kGpuOom, 2);
  EXPECT_EQ(history.failed_risks(), 1);
  EXPECT_EQ(history.out_of_memory_count(), 3);
}

/// The value that a climb from `value` of x tries first.
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

TEST(History, WhatComesAgainIsNotRunAgain) {
  Space space = *make_space({"x=1,2"}, {"train", "{x}"}, {});
  History history(space);
  history.add(ended({{"x", "1"}}, Outcome::kOk, {}));
  FinishedTrial crash = ended({{"x", "2"}}, Outcome::kCrash, {});
  crash.result.is_certain = true;
  history.add(crash);
  EXPECT_EQ(history.crash_to_retry(), nullptr);
  crash.result.is_certain = false;
  crash.config = {{"x", "3"}};
  history.add(crash);
  EXPECT_NE(history.crash_to_retry(), nullptr);
}

TEST(History, DefaultsWhoseLossWasOnceNanRunAllTheSame) {
  Space space = *make_space({"x=1,2"}, {"train", "{x}"}, {});
  History history(space);
  history.add(ended({{"x", "1"}}, Outcome::kOk, {}));
  history.add(ended({{"x", "1"}}, Outcome::kNanLoss, {}));
  history.add(ended({{"x", "2"}}, Outcome::kOk, {}));
  history.add(ended({{"x", "2"}}, Outcome::kNanLoss, {}));
  EXPECT_EQ(history.runs_of({{"x", "1"}}).size(), 1);
  EXPECT_EQ(history.runs_of({{"x", "2"}}).size(), 2) << "one that ever failed cannot win";
  History first(space);
  first.add(ended({{"x", "1"}}, Outcome::kNanLoss, {}));
  EXPECT_NE(first.crash_to_retry(), nullptr) << "the defaults get a second chance";
}

TEST(History, AKnobThatATrialHasNothingForIsNoPartOfItsConfiguration) {
  Space space = *make_space({"batch_size=8,16", "amp=off,bf16"}, {"train"}, {});
  History history(space);
  const auto add = [&](FinishedTrial trial) {
    learn_from(trial, space);
    history.add(std::move(trial));
  };
  add(ended({}, Outcome::kOk, {{"amp", "off"}}));
  FinishedTrial told = ended({{"batch_size", "16"}}, Outcome::kOk, {});
  told.result.unused = {{"batch_size", "no DataLoader feeds the training"}};
  add(told);
  EXPECT_EQ(space.find("batch_size"), nullptr);
  EXPECT_EQ(history.configs().size(), 1) << "it ran the defaults again";
  const auto next = make_grid(space)->ask(history);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->config, (Config{{"amp", "bf16"}}));
}

TEST(History, WithoutWorkersNothingIsFetchedAhead) {
  const FinishedTrial told = ended({}, Outcome::kOk, {{"num_workers", "0"}});
  const std::vector<std::string> knobs = {"prefetch_factor=2,8", "amp=off,bf16"};
  Space space = *make_space(knobs, {"train"}, {});
  learn_from(told, space);
  EXPECT_EQ(space.find("prefetch_factor"), nullptr);
  EXPECT_NE(space.find("amp"), nullptr);
  Space with_workers = *make_space({"num_workers=0,2", "prefetch_factor=2,8"}, {"train"}, {});
  learn_from(told, with_workers);
  EXPECT_NE(with_workers.find("prefetch_factor"), nullptr);
  Space another = *make_space(knobs, {"train"}, {});
  learn_from(ended({}, Outcome::kOk, {{"num_workers", "2"}}), another);
  EXPECT_NE(another.find("prefetch_factor"), nullptr);
}

TEST(History, WithoutWorkersWhatIsFetchedAheadMakesNoOtherConfiguration) {
  const std::vector<std::string> knobs = {"num_workers=0,2", "prefetch_factor=2,8"};
  Space space = *make_space(knobs, {"train"}, {});
  History history(space);
  history.add(ended({}, Outcome::kOk, {{"num_workers", "2"}, {"prefetch_factor", "2"}}));
  const Config alone = {{"num_workers", "0"}};
  EXPECT_EQ(history.canonical({{"num_workers", "0"}, {"prefetch_factor", "8"}}), alone);
  const Config ahead = {{"prefetch_factor", "8"}};
  EXPECT_EQ(history.canonical(ahead), ahead);
  EXPECT_EQ(history.canonical({{"num_workers", "2"}, {"prefetch_factor", "8"}}), ahead);
  space.most["num_workers"] = 4;
  EXPECT_EQ(space.canonical({{"num_workers", "8"}, {"prefetch_factor", "8"}},
                            {{"num_workers", "0"}, {"prefetch_factor", "2"}}),
            Config{})
      << "so many workers are not made";
  const std::vector<std::string> own = {"train", "{num_workers}"};
  const Config placed = {{"num_workers", "0"}, {"prefetch_factor", "8"}};
  EXPECT_EQ(make_space(knobs, own, {})->canonical(placed, {}), placed) << "the script sets it";
}

TEST(History, AValueThatAJobCannotTakeRanTheDefaults) {
  Space space = *make_space({"num_workers=0..4", "amp=off,bf16"}, {"python", "train.py"}, {});
  History history(space);
  FinishedTrial told = ended({}, Outcome::kOk, {{"num_workers", "0"}});
  told.result.limits["num_workers"] = {.most = 1, .why = "each worker may yield all of it"};
  learn_from(told, space);
  history.add(told);
  EXPECT_EQ(space.find("num_workers")->text(), "0..1");
  EXPECT_EQ(history.canonical({{"num_workers", "3"}}), Config{});
  EXPECT_EQ(history.canonical({{"num_workers", "1"}}), (Config{{"num_workers", "1"}}));
  Space above = *make_space({"num_workers=2,4", "amp=off,bf16"}, {"python", "train.py"}, {});
  learn_from(told, above);
  EXPECT_EQ(above.unread.size(), 1) << "none of the values that were asked for can be applied";
  Space placed = *make_space({"num_workers=0..4"}, {"python", "train.py", "{num_workers}"}, {});
  learn_from(told, placed);
  EXPECT_EQ(placed.find("num_workers")->text(), "0..4") << "the script sets it, not the hook";
  EXPECT_EQ(placed.canonical({{"num_workers", "3"}}, {}), (Config{{"num_workers", "3"}}));
  Space global = *make_space({}, {"python", "train.py"}, {.cores = 2}, 16);
  told.result.limits = {{"accumulation", {.most = 1, .why = "the optimizer steps with a closure"}}};
  learn_from(told, global);
  EXPECT_EQ(global.find("batch_size")->text(), "16");
}

TEST(History, ALowerLimitMakesOneConfigurationOfWhatItCuts) {
  Space space = *make_space({"num_workers=0..8"}, {"python", "train.py"}, {});
  History history(space);
  const auto add = [&](const Config& config, int64_t most) {
    FinishedTrial trial = ended(config, Outcome::kOk, {{"num_workers", "0"}});
    trial.result.limits["num_workers"] = {.most = most, .why = "few files"};
    learn_from(trial, space);
    history.add(trial);
  };
  add({}, 4);
  add({{"num_workers", "3"}}, 4);
  EXPECT_EQ(history.runs_of({}).size(), 1);
  add({{"num_workers", "1"}}, 2);
  EXPECT_EQ(history.runs_of({}).size(), 2);
}

TEST(History, OnlyATrialWhoseRanksAreAllKnownTellsTheirNumber) {
  Space space = *make_space({"batch_size=8,16,32,64"}, {"python", "spawn.py"}, {}, 64);
  History history(space);
  FinishedTrial failed = ended(space.first, Outcome::kGpuOom, {});
  failed.result.readers = 2;  // of ranks that read the same samples, as one more batch would show
  learn_from(failed, space);
  history.add(failed);
  EXPECT_EQ(space.samples_a_step, 64);
  FinishedTrial other = ended({{"batch_size", "8"}}, Outcome::kInvalid, {});
  other.result.readers = 2;
  learn_from(other, space);
  EXPECT_EQ(space.samples_a_step, 32);
  history.refresh();
  EXPECT_EQ(history.runs_of({{"batch_size", "32"}}).size(), 1) << "with another accumulation";
  FinishedTrial ran = ended({{"batch_size", "8"}}, Outcome::kOk, {});
  ran.result.readers = 2;
  learn_from(ran, space);
  other.result.readers = 4;
  learn_from(other, space);
  EXPECT_EQ(space.samples_a_step, 32) << "it stays with what ran";
}

TEST(History, KnobsThatJoinedTheSpaceAreReadWithTheirTrials) {
  Space space = *parse_signature(make_space({}, {"python", "spawn.py"}, {.cores = 2})->signature());
  ASSERT_EQ(space.find("bucket_cap_mb"), nullptr);
  learn_from(ended({{"bucket_cap_mb", "5"}}, Outcome::kOk, {}), space);
  EXPECT_NE(space.find("bucket_cap_mb"), nullptr);
  EXPECT_NE(space.find("gradient_as_bucket_view"), nullptr);
}

}  // namespace
}  // namespace redline::tuner
