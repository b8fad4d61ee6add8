#include "tuner/search/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

/// A strategy that has nothing more to ask, so that confirmation follows, or always the same.
class Exhausted final : public Strategy {
 public:
  std::optional<Proposal> wanted;

  std::optional<Proposal> ask(const History&) const override { return wanted; }
  std::string why_ended(const History&) const override { return "exhausted"; }
  std::optional<double> possible_gain(const History& history) const override {
    return 0.01 + 0.01 * static_cast<double>(history.trials().size());
  }
  std::string description() const override { return "exhausted"; }
};

class PlanTest : public ::testing::Test {
 protected:
  void ran(const std::string& x, double rate, const std::string& why = "") {
    rates_[x] = rate;
    add(x, why, ran_at(rate, 0.01 * rate));
  }
  void ran_beside_another(const std::string& x, double rate) {
    TrialResult result = ran_at(rate, 0.01 * rate);
    result.neighbours = 1;
    add(x, "", result);
  }
  void ran_out_of_memory(const std::string& x) { add(x, kConfirm, ended_with(Outcome::kHostOom)); }

  /// "8" is twice as fast as the defaults; in its second run it took `peak` of 1000 bytes.
  void won_with_memory(uint64_t peak) {
    ran("1", 100);
    ran("8", 200);
    TrialResult result = ran_at(200, 2);
    result.memory_capacity_bytes = 1000;
    result.peak_memory_bytes = peak;
    add("8", kConfirm, result);
  }

  /// A trial takes a second.
  [[nodiscard]] std::string next(std::chrono::seconds budget = std::chrono::seconds(60)) const {
    const auto proposal = Plan(space_, strategy_, {.time = budget}, memory_limit_).next(history_);
    return proposal ? value(proposal->config) : "nothing";
  }
  /// Runs all confirming trials, and returns how many there were. Their rates are those of the
  /// configurations' first runs, in turn that share faster and slower.
  int confirm_to_the_end(double noise = 0) {
    const std::map<std::string, double> first = rates_;
    for (int count = 0;; ++count) {
      const std::string x = next();
      if (x == "nothing") return count;
      const bool faster = (count / 2) % 2 == 0;
      ran(x, first.at(x) * (1 + (faster ? noise : -noise)), kConfirm);
    }
  }
  [[nodiscard]] std::string why_ended(
      std::optional<double> target, std::chrono::seconds budget = std::chrono::seconds(60)) const {
    return why_ended_by({.time = budget, .target = target});
  }
  [[nodiscard]] std::string why_ended_by(const Budget& budget, size_t known = 0) const {
    return Plan(space_, strategy_, budget).why_ended(history_, known);
  }
  [[nodiscard]] std::string best() const { return value(*best_config(history_)); }

  void add(const std::string& x, const std::string& why, TrialResult result) {
    result.wall = std::chrono::seconds(1);
    add_trial(history_, {{"batch_size", x}}, result, why);
  }

  Exhausted strategy_;
  std::optional<uint64_t> memory_limit_;
  Space space_ = *make_space({"batch_size=1..4096"}, {"train", "{batch_size}"}, {});
  History history_{space_};

 private:
  static std::string value(const Config& config) { return config.at("batch_size"); }

  std::map<std::string, double> rates_;
};

TEST_F(PlanTest, TheFastestAndTheDefaultsAreConfirmed) {
  ran("1", 100);
  ran("8", 200);
  EXPECT_EQ(next(), "8");
  ran("8", 200, kConfirm);
  EXPECT_EQ(next(), "1");
}

TEST_F(PlanTest, WhatBeatsTheDefaultsIsSoonClear) {
  ran("1", 100);
  ran("8", 200);
  EXPECT_EQ(confirm_to_the_end(), 2);
}

TEST_F(PlanTest, WhatMayBeNoFasterThanTheDefaultsRunsMostOften) {
  ran("1", 100);
  ran("8", 100.5);
  EXPECT_EQ(confirm_to_the_end(), 16);
}

TEST_F(PlanTest, RivalsRunAgainWhileNoiseDecidesBetweenThem) {
  ran("1", 100);
  ran("4", 199.5);
  ran("8", 200);
  EXPECT_EQ(confirm_to_the_end(0.08), 12);
}

TEST_F(PlanTest, RivalsThatAreAsGoodAsEachOtherEndIt) {
  ran("1", 100);
  ran("4", 199.5);
  ran("8", 200);
  EXPECT_EQ(confirm_to_the_end(), 3);
}

TEST_F(PlanTest, AClearWinnerWhoseMemoryIsNearlyFullRunsAgainAlone) {
  ran("1", 100);
  ran("8", 200);
  ran_out_of_memory("16");
  EXPECT_EQ(confirm_to_the_end(), 4);
  EXPECT_EQ(next(), "nothing");
}

TEST_F(PlanTest, WhatTheHostOrItsSharedMemoryRefusedSaysNothingOfTheWinnersMemory) {
  ran("1", 100);
  ran("8", 200);
  add("12", "", ended_with(Outcome::kShmFull));
  TrialResult unfit = ended_with(Outcome::kHostOom);
  unfit.not_started = true;
  add("16", "", unfit);
  EXPECT_EQ(confirm_to_the_end(), 2);
}

TEST_F(PlanTest, AWinnerThatTookNearlyAllMemoryOnceRunsFourTimes) {
  won_with_memory(969);
  EXPECT_EQ(confirm_to_the_end(), 3);
}

TEST_F(PlanTest, ThreePercentOfFreeMemoryAreEnough) {
  won_with_memory(967);
  EXPECT_EQ(confirm_to_the_end(), 1);
}

TEST_F(PlanTest, TheUsersLimitCountsInsteadOfTheGpus) {
  memory_limit_ = 2000;
  won_with_memory(969);
  EXPECT_EQ(confirm_to_the_end(), 1);
  memory_limit_ = 1000;
  EXPECT_EQ(confirm_to_the_end(), 2) << "the winner alone";
}

TEST_F(PlanTest, AWinnerIsConfirmedAlsoWhereTheDefaultsRunOutOfMemory) {
  add("32", "default", ended_with(Outcome::kGpuOom));
  ran("8", 200);
  ran("1", 100);
  EXPECT_EQ(next(), "8");
  ran("4", 150);
  EXPECT_EQ(confirm_to_the_end(), 1) << "memory is not nearly full";
  EXPECT_EQ(best(), "8");
}

TEST_F(PlanTest, WhereTheDefaultsRunOutOfMemoryAWinnerNearTheLimitRunsFourTimes) {
  add("16", "default", ended_with(Outcome::kGpuOom));
  ran("1", 100);
  ran("8", 200);
  EXPECT_EQ(confirm_to_the_end(), 3);
}

TEST_F(PlanTest, DefaultsWithoutARivalAreNotConfirmed) {
  ran("8", 200);
  ran_out_of_memory("16");
  EXPECT_EQ(next(), "nothing");
}

TEST_F(PlanTest, ALongerStudyKeepsMoreTrialsForConfirmation) {
  strategy_.wanted = {.config = {{"batch_size", "64"}}, .why = "test"};
  const auto next_of = [this](int trials) { return next(std::chrono::seconds(trials)); };
  ran("1", 100);
  ran("8", 200);
  ran("2", 90);
  EXPECT_EQ(next_of(4), "64") << "so few are all for the search";
  EXPECT_EQ(next_of(5), "8") << "two of five confirm";
  EXPECT_EQ(next_of(6), "64");
  for (const char* x : {"3", "4", "5", "6"}) ran(x, 80);
  EXPECT_EQ(next_of(10), "64") << "three are left, and two of ten confirm";
  EXPECT_EQ(next_of(11), "8") << "four of eleven";
  for (int x = 7; x < 24; ++x) ran(std::to_string(100 + x), 70);
  EXPECT_EQ(next_of(30), "64");
  EXPECT_EQ(next_of(31), "8") << "seven are left, and eight of 31 confirm";
}

TEST_F(PlanTest, WhatConfirmationLeavesOfTheBudgetIsSearched) {
  const std::chrono::seconds budget(14);
  strategy_.wanted = Proposal{{{"batch_size", "2"}}, "more"};
  ran("1", 100);
  for (const char* x : {"8", "16", "17", "18", "19", "20", "21", "22"}) {
    EXPECT_EQ(next(budget), "2");
    ran(x, x == std::string("8") ? 200 : 100);
  }
  EXPECT_EQ(next(budget), "2");
  ran("23", 100);
  for (const char* x : {"8", "1"}) {
    EXPECT_EQ(next(budget), x) << "four trials are kept for confirming";
    ran(x, x == std::string("8") ? 200 : 100, kConfirm);
  }
  EXPECT_EQ(next(budget), "2") << "two were enough";
  ran("2", 250);
  EXPECT_EQ(next(budget), "2") << "what wins now is confirmed, too";
}

TEST_F(PlanTest, ALastTrialThatCouldNotBeConfirmedIsLeftAndSaid) {
  strategy_.wanted = Proposal{{{"batch_size", "2"}}, "more"};
  ran("1", 100);
  ran("8", 200);
  ran("8", 200, kConfirm);
  ran("1", 100, kConfirm);
  EXPECT_EQ(next(std::chrono::seconds(6)), "2");
  EXPECT_EQ(next(std::chrono::seconds(5)), "nothing");
  EXPECT_THAT(why_ended({}, std::chrono::seconds(5)),
              ::testing::HasSubstr("one more trial could not confirm another one."));
}

TEST_F(PlanTest, DefaultsThatOnlyCrashedByChanceAreConfirmed) {
  add("1", "default", ended_with(Outcome::kCrash));
  ran("1", 100, "once more after a crash");
  ran("8", 200);
  ran("8", 200, kConfirm);
  EXPECT_EQ(next(), "1");
}

TEST_F(PlanTest, DefaultsThatFailWhenConfirmedDoNotEndTheSearch) {
  ran("1", 100);
  ran("4", 199);
  ran("8", 200);
  for (int run = 0; run < 2; ++run) add("1", kConfirm, ended_with(Outcome::kCrash));
  EXPECT_EQ(next(), "8");
}

TEST_F(PlanTest, OneThatRunsOutOfMemoryWhenConfirmedMakesWayForTheNext) {
  ran("1", 100);
  ran("4", 180);
  ran("8", 250);
  ran_out_of_memory("8");
  EXPECT_EQ(next(), "4");
  EXPECT_EQ(best(), "4");
  ran("4", 180, kConfirm);
  EXPECT_EQ(next(), "1");
}

TEST_F(PlanTest, DefaultsThatOnlyRanAgainHaveNotWon) {
  ran("1", 100);
  ran("4", 180);
  ran("8", 250);
  ran("1", 100, kConfirm);
  ran_out_of_memory("8");
  EXPECT_EQ(best(), "4");
}

TEST_F(PlanTest, WhatTheFinalistsShowTogetherDecides) {
  ran("1", 100);
  ran("4", 180);
  ran("8", 190);
  ran("4", 180, kConfirm);
  ran("8", 150, kConfirm);
  EXPECT_EQ(best(), "4");
}

TEST_F(PlanTest, ASecondRunThatWasNotConfirmingIsConfirmedToo) {
  for (const char* why : {"once more after a crash", kOnceMore}) {
    history_ = History(space_);
    ran("1", 100);
    ran("8", 206);
    ran("4", 200);
    if (why != kOnceMore) add("8", kConfirm, ended_with(Outcome::kCrash));
    ran("8", 206, why);
    EXPECT_EQ(next(), "8") << why;
    EXPECT_EQ(confirm_to_the_end(), 3) << why << ": one round of all three";
    EXPECT_EQ(best(), "8") << why;
  }
}

TEST_F(PlanTest, AFirstRunThatWasSlowByChanceHidesNoWinner) {
  ran("1", 100);
  ran("2", 130);
  ran("3", 30);
  ran("3", 160, kOnceMore);
  for (const char* x : {"3", "1"}) {
    EXPECT_EQ(next(), x);
    ran(x, x == std::string("3") ? 160 : 100, kConfirm);
  }
  EXPECT_EQ(next(), "nothing");
  EXPECT_EQ(best(), "3");
}

TEST_F(PlanTest, WhatWasSlowOnceMustSurelyBeTheFasterOne) {
  ran("1", 100);
  ran("2", 150);
  ran("3", 80);
  for (const char* why : {kOnceMore, kConfirm}) ran("3", 151, why);
  for (const double rate : {147, 153}) ran("2", rate, kConfirm);
  EXPECT_EQ(best(), "2") << "for it may be slow again";
}

TEST_F(PlanTest, ASlowFirstTrialOfAStudyTakesNoWinFromTheDefaults) {
  ran("1", 50);
  ran("2", 97);
  for (const char* x : {"2", "1", "2", "1"}) {
    EXPECT_EQ(next(), x);
    ran(x, x == std::string("2") ? 97 : 100, kConfirm);
  }
  EXPECT_EQ(next(), "nothing");
  EXPECT_EQ(best(), "1");
}

TEST_F(PlanTest, TheFastestOfThoseSideBySideIsConfirmedBesideTheFastestAlone) {
  ran("1", 100);
  ran_beside_another("2", 84);
  ran_beside_another("3", 72);
  EXPECT_EQ(next(), "2") << "alone it may be faster than the defaults";
  ran("4", 130);
  for (const char* x : {"2", "1", "4"}) {
    EXPECT_EQ(next(), x);
    ran(x, std::map<std::string, double>{{"1", 100}, {"2", 140}, {"4", 130}}.at(x), kConfirm);
  }
  EXPECT_EQ(next(), "nothing");
  EXPECT_EQ(best(), "2");
}

TEST_F(PlanTest, NeighboursMakeNoTrialFaster) {
  ran("1", 100);
  ran_beside_another("2", 150);
  ran("3", 140);
  for (const char* x : {"2", "1"}) {
    EXPECT_EQ(next(), x);
    ran(x, x == std::string("2") ? 150 : 100, kConfirm);
  }
  EXPECT_EQ(next(), "nothing") << "3 is clearly slower";
}

TEST_F(PlanTest, AFasterTrialThatTheBudgetLeftUnconfirmedIsSaid) {
  ran("1", 100);
  ran("8", 200);
  ran("9", 250);
  const std::chrono::seconds budget(3);
  EXPECT_EQ(why_ended({}, budget), "") << "the fastest is the best as long as none is confirmed";
  history_ = History(space_);
  ran("1", 100);
  ran("8", 200);
  ran("8", 200, kConfirm);
  ran("1", 100, kConfirm);
  ran("9", 201);
  EXPECT_EQ(why_ended({}, std::chrono::seconds(5)), "") << "within the interval of the best";
  ran("16", 250);
  EXPECT_EQ(best(), "8");
  EXPECT_EQ(why_ended({}, std::chrono::seconds(6)),
            "Trial 6 beat the best, but nothing confirmed it: a longer search (--resume) runs it "
            "again.");
}

TEST_F(PlanTest, ABudgetForTheFirstTrialAloneIsSaid) {
  ran("1", 100);
  EXPECT_THAT(why_ended({}, std::chrono::seconds(1)),
              ::testing::HasSubstr("Give a longer --budget."));
  ran("4", 100);
  EXPECT_EQ(why_ended({}, std::chrono::seconds(1)), "");
}

TEST_F(PlanTest, ASearchThatCannotGoOnSaysWhatItsTrialsUsedUp) {
  const Budget short_one{.time = std::chrono::milliseconds(1500)};
  const std::string budget =
      "The budget of 1.5 s counts the 1.0 s of the trials that are there: give a larger --budget "
      "to go on.";
  ran("1", 100);
  EXPECT_EQ(why_ended_by(short_one, 1), budget);
  EXPECT_THAT(why_ended_by(short_one), ::testing::HasSubstr("no time for a second trial"))
      << "it ran";
  ran("2", 200);
  EXPECT_EQ(why_ended_by({.max_trials = 2}, 2),
            "--max-trials 2 counts the 2 trials there already: give more to go on.");
  EXPECT_EQ(why_ended_by({.max_trials = 2}, 1), "");
  EXPECT_THAT(why_ended_by({.max_trials = 3}, 2), ::testing::StartsWith("exhausted"));
}

TEST(PlanTestOfChoices, ThoseThatTheBudgetLeftUntriedAreSaid) {
  const Space space = *make_space({"batch_size=1,2,4", "amp=off,bf16,fp16"},
                                  {"train", "{batch_size}", "{amp}"}, {});
  const Exhausted strategy;
  const Plan plan(space, strategy, {.time = std::chrono::seconds(1)});
  History history(space);
  const auto ran = [&](const std::string& amp) {
    TrialResult result = ran_at(100, 1);
    result.wall = std::chrono::milliseconds(600);
    add_trial(history, {{"batch_size", "1"}, {"amp", amp}}, result, "");
  };
  ran("off");
  ran("fp16");
  EXPECT_EQ(plan.why_ended(history), "Not tried before the budget ended: amp=bf16.");
  EXPECT_THAT(plan.why_ended(history, 2),
              ::testing::EndsWith(" to go on. Not tried before the budget ended: amp=bf16."));
  ran("bf16");
  EXPECT_EQ(plan.why_ended(history), "");
}

TEST_F(PlanTest, WhatEndedTheSearchBeforeItsBudgetIsSaid) {
  EXPECT_EQ(why_ended({}), "") << "nothing ran";
  ran("1", 100);
  EXPECT_EQ(why_ended({}), "exhausted") << "one trial shows no slope";
  for (const char* x : {"4", "8"}) ran(x, 100);
  EXPECT_EQ(why_ended({}), "exhausted More time could bring at most 4 % more.");
  EXPECT_EQ(why_ended(0.05), "The target is reached. More time could bring at most 4 % more.");
  ran("8", 100, kConfirm);
  EXPECT_EQ(why_ended(0.04), "The target is reached. More time could bring at most 4 % more.")
      << "confirming changes nothing";
  EXPECT_EQ(why_ended(0.03), "exhausted More time could bring at most 4 % more.");
}

TEST_F(PlanTest, ASecondRunThatConfirmsNothingMakesNoWinner) {
  ran("1", 100, "default");
  ran("2", 300);
  ran("2", 300, kOnceMore);
  EXPECT_EQ(best(), "2") << "as long as nothing is confirmed";
  ran("3", 200);
  ran("1", 100, kConfirm);
  EXPECT_EQ(best(), "2") << "the defaults alone have won against nobody";
  ran("3", 200, kConfirm);
  EXPECT_EQ(best(), "3");
  ran("2", 300, kConfirm);
  EXPECT_EQ(best(), "2");
}

}  // namespace
}  // namespace redline::tuner
