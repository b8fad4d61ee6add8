#include "tuner/show/table.h"

#include <gmock/gmock.h>

#include <sstream>

#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TableOf : public ::testing::Test {
 protected:
  std::string line_of(const std::string& why, double rate, const std::string& disturbance = "") {
    TrialResult result = ran_at(rate, 10);
    result.disturbance = disturbance;
    add_trial(history_, {{"batch_size", "64"}}, result, why);
    return Table(space_, TextStyle{}).line(history_);
  }

  Space space_ = *make_space({"batch_size=1..4096"}, {"train"}, {.gpu = false, .cores = 2});
  History history_{space_};
};

TEST_F(TableOf, ATrialsLineSaysWhatItWasFor) {
  EXPECT_THAT(line_of("default", 1000), EndsWith("  default\n"));
  EXPECT_THAT(line_of("batch", 2000), HasSubstr("best so far"));
  EXPECT_THAT(line_of("batch", 1500), Not(HasSubstr("best so far")));
  EXPECT_THAT(line_of(kConfirm, 2500), EndsWith("  confirming\n"));
}

TEST_F(TableOf, AReasonNamesTheKnobsThatATrialTests) {
  EXPECT_THAT(line_of("default", 1000), EndsWith("  default\n"));
  const auto tested = [&](const std::string& why) {
    TrialResult result = ran_at(900, 10);
    result.expected = Expectation{.score = {950, 900, 1000}};
    add_trial(history_, {{"batch_size", "64"}}, result, why);
    return Table(space_, TextStyle{}).line(history_);
  };
  EXPECT_THAT(tested("compute limits: batch_size 64"),
              EndsWith("  batch: compute limits, expected 950\n"));
  EXPECT_THAT(tested("loader hides amp: amp bf16, num_workers 8"),
              HasSubstr("  amp, work: loader hides amp"));
  EXPECT_THAT(tested(kOnceMore), HasSubstr("  once more"));
}

TEST_F(TableOf, WhyATrialEndedIsCutForATerminalOnly) {
  TrialResult result;
  result.outcome = Outcome::kCrash;
  result.message = "died of signal 11 (Segmentation fault) in rank 3 of 4";
  add_trial(history_, {}, result, "default");
  const std::string cut = Table(space_, TextStyle{}).line(history_);
  EXPECT_EQ(columns(cut), 81U);
  EXPECT_THAT(cut, EndsWith("…\n"));
  const Table whole(space_, TextStyle{}, Objective::kSamplesPerSecond, true);
  EXPECT_THAT(whole.line(history_), EndsWith("  " + result.message + "\n"));
}

class ColumnOf : public ::testing::Test {
 protected:
  /// The lines' columns behind the number, and that of the rate.
  std::string cell_of(const std::string& knob, const std::string& value, bool whole) {
    const Space space = *make_space({knob}, {"train", "{x}"}, {.gpu = false, .cores = 2});
    History history(space);
    add_trial(history, {{"x", value}}, ran_at(100), "first");
    std::istringstream words(
        Table(space, TextStyle{}, Objective::kSamplesPerSecond, whole).line(history));
    std::string number;
    std::string cell;
    words >> number >> cell;
    return cell;
  }
};

TEST_F(ColumnOf, IsAsWideAsBothEndsOfARange) {
  EXPECT_EQ(cell_of("x=-32..-1", "-32", false), "-32");
  EXPECT_EQ(cell_of("x=1..4096", "4096", false), "4096");
}

TEST_F(ColumnOf, TellsValuesApartThatBeginAlike) {
  const std::string knob = "x=configs/small.yaml,configs/large.yaml";
  EXPECT_EQ(cell_of(knob, "configs/small.yaml", true), "configs/small.yaml");
  EXPECT_EQ(cell_of(knob, "configs/small.yaml", false), "…small.…");
  EXPECT_EQ(cell_of(knob, "configs/large.yaml", false), "…large.…");
  EXPECT_EQ(cell_of("x=small_model,large_model", "small_model", false), "small_m…");
  EXPECT_EQ(cell_of("x=checkpoint,checkpoint_2", "checkpoint", false), "…t") << "some is left";
  EXPECT_EQ(cell_of("x=configs_ä,configs_ö1", "configs_ä", false), "…ä") << "whole letters";
}

TEST_F(TableOf, KnobsThatJoinTheSpaceGetColumns) {
  const Table table(space_, TextStyle{});
  EXPECT_THAT(table.column_names(), Not(HasSubstr("bucket")));
  space_.add_ddp_knobs();
  EXPECT_THAT(table.column_names(), HasSubstr("batch bucket view"));
}

TEST_F(TableOf, CompilationIsSaidWithItsTime) {
  TrialResult result = ran_at(100, 1);
  const auto add = [&](Config config, std::chrono::nanoseconds compiled) {
    result.compile_time = compiled;
    add_trial(history_, std::move(config), result, "default");
    return Table(space_, TextStyle{}).line(history_);
  };
  EXPECT_THAT(add({}, std::chrono::milliseconds(400)), EndsWith("  default\n"));
  result.throughput = Throughput{200, 199, 201};
  result.step_samples = 8;
  EXPECT_THAT(add({{"compile", "on"}}, std::chrono::seconds(37)),
              EndsWith("  best so far, compiled 37 s\n"));
  // 8 samples take 80 ms without compilation and 40 ms with it. The default compiled 0.4 s.
  const std::optional<Best> best = find_best(history_);
  EXPECT_THAT(Table(space_, TextStyle{}).summary(history_, best, {}),
              HasSubstr("\n      compiled 37 s: pays after 915 steps\n"));
}

TEST_F(TableOf, TokensASecondAreSaidWhereSamplesAreSequences) {
  TrialResult result = ran_at(100, 1);
  result.tokens_per_sample = 128;
  add_trial(history_, {}, result, "default");
  const std::optional<Best> best = find_best(history_);
  EXPECT_THAT(Table(space_, TextStyle{}).summary(history_, best, {}),
              HasSubstr("\n      12,800 tokens/s: 128 a sample\n"));
  StudyTerms terms;
  terms.command = {"train"};
  terms.output = "my best.json";
  EXPECT_THAT(Table(space_, TextStyle{}).summary(history_, best, terms),
              EndsWith("\nrun it:  redline run --config 'my best.json' -- train\n"));
  terms.environment = {{"FLAGS", "--token=a --b {x}"}, {"X", "{x}"}};
  EXPECT_EQ(run_text(terms),
            "FLAGS='--token=***' X='{x}' redline run --config 'my best.json' -- train");
  EXPECT_THAT(study_csv(history_, space_), HasSubstr("ok,100,99,101,12800,"));
  EXPECT_THAT(tune_json(history_, best, {}), HasSubstr("\"tokens_per_s\": 12800.0"));
}

TEST_F(TableOf, ASingleFigureByMetricHasNoIntervalInAnyFormat) {
  TrialResult result = ran_at(100, 1);
  result.throughput = Throughput{100, 100, 100};
  add_trial(history_, {}, result, "default");
  EXPECT_THAT(study_csv(history_, space_), HasSubstr(",ok,100,,,,"));
  EXPECT_THAT(tune_json(history_, std::nullopt, {}), HasSubstr("\"low\": null"));
}

TEST_F(TableOf, RanksAreThoseOfATrialThatRan) {
  add_trial(history_, {}, ended_with(Outcome::kGpuOom), "default");
  TrialResult result = ran_at(100, 1);
  result.ranks = 2;
  add_trial(history_, {{"batch_size", "8"}}, result, "smaller batch");
  EXPECT_THAT(Table(space_, TextStyle{}).summary(history_, find_best(history_), {}),
              StartsWith("2 trials · 1 out of memory · 2 ranks · "));
}

TEST_F(TableOf, TheMemoryOfTheBestStandsBesideWhatThereIs) {
  TrialResult result = ran_at(100, 1);
  result.peak_memory_bytes = uint64_t{797} << 27;
  result.memory_capacity_bytes = uint64_t{800} << 27;
  add_trial(history_, {{"batch_size", "64"}}, result, "default");
  const std::optional<Best> best = find_best(history_);
  EXPECT_THAT(Table(space_, TextStyle{}).summary(history_, best, {}),
              HasSubstr("memory 99.6 GiB of 100.0 GiB\n"));
  StudyTerms terms;
  terms.memory_limit_bytes = uint64_t{1200} << 27;
  EXPECT_THAT(Table(space_, TextStyle{}).summary(history_, best, terms),
              HasSubstr("memory 99.6 GiB of 150.0 GiB\n"));
}

TEST_F(TableOf, AStoppedSearchSaysSoWhoeverShowsIt) {
  add_trial(history_, {}, ran_at(100, 1), "default");
  const std::optional<Best> best = find_best(history_);
  StudyTerms terms;
  EXPECT_THAT(tune_json(history_, best, terms), HasSubstr("\"stopped\": false"));
  terms.why_ended = kStopped;
  EXPECT_THAT(tune_json(history_, best, terms), HasSubstr("\"stopped\": true"));
  EXPECT_THAT(Table(space_, TextStyle{}).summary(history_, best, terms),
              HasSubstr("\nStopped; autotune --resume … (before the --) goes on.\n"));
}

TEST_F(TableOf, AWinnerThatRanOnceIsNotConfirmed) {
  const auto summary_after = [&](const std::string& why, Config config, double rate) {
    add_trial(history_, std::move(config), ran_at(rate, 1), why);
    return Table(space_, TextStyle{}).summary(history_, find_best(history_), {});
  };
  EXPECT_THAT(summary_after("default", {}, 100), Not(HasSubstr("not confirmed")));
  EXPECT_THAT(summary_after("batch", {{"batch_size", "64"}}, 200),
              HasSubstr("2.00 x the default (1.98 to 2.02), not confirmed: it ran once\n"));
  EXPECT_THAT(summary_after(kConfirm, {{"batch_size", "64"}}, 200),
              Not(HasSubstr("not confirmed")));
}

TEST_F(TableOf, AWinnerThatRanOnceIsNotConfirmedWhereTheDefaultsDoNotRun) {
  add_trial(history_, {}, ended_with(Outcome::kGpuOom), "default");
  const auto summary_after = [&](const std::string& why) {
    (void)line_of(why, 200);
    return Table(space_, TextStyle{}).summary(history_, find_best(history_), {});
  };
  EXPECT_THAT(summary_after("batch"),
              HasSubstr("\n      the default does not run, not confirmed: it ran once\n"));
  EXPECT_THAT(summary_after(kConfirm), HasSubstr("\n      the default does not run\n"));
}

// What a metric counts nobody knows: items, batches or tokens a second.
TEST_F(TableOf, ARateByMetricGivesNoEpochAndNoStepsUntilCompilationPays) {
  History history(space_, Objective::kMetric);
  TrialResult result = ran_at(25);
  result.epoch_samples = 4000;
  result.step_samples = 20;
  add_trial(history, {}, result, "default");
  result.throughput = Throughput{50, 50, 50};
  result.compile_time = std::chrono::seconds(37);
  add_trial(history, {{"compile", "on"}}, result, "batch");
  const std::string text =
      Table(space_, TextStyle{}, Objective::kMetric).summary(history, find_best(history), {});
  EXPECT_THAT(text, HasSubstr("\n      compiled 37 s\n"));
  EXPECT_THAT(text, Not(HasSubstr("epoch")));
}

TEST_F(TableOf, TheNumberOfATrialIsWhole) {
  for (int trial = 1; trial < 100; ++trial) (void)line_of("batch", 1000);
  EXPECT_THAT(line_of("batch", 1000), StartsWith("100 "));
}

TEST_F(TableOf, TheSummarySaysWhyTrialsFailedIfAnyRan) {
  TrialResult failed = ended_with(Outcome::kInvalid);
  failed.message = "too few steps";
  const auto summary_after = [&](Config config, const TrialResult& result) {
    add_trial(history_, std::move(config), result, "batch");
    return Table(space_, TextStyle{}).summary(history_, find_best(history_), {});
  };
  EXPECT_THAT(summary_after({{"batch_size", "32"}}, failed), Not(HasSubstr("failed")));
  EXPECT_THAT(summary_after({}, ran_at(100)), HasSubstr("\n1 trial failed: too few steps\n"));
  EXPECT_THAT(summary_after({{"batch_size", "64"}}, ended_with(Outcome::kGpuOom)),
              HasSubstr("\n1 trial failed: too few steps\n"));
  EXPECT_THAT(summary_after({{"batch_size", "48"}}, ended_with(Outcome::kCrash)),
              HasSubstr("\n2 trials failed: crash\n"));
}

TEST_F(TableOf, WhatDisturbedATrialIsSaidOfEveryKind) {
  EXPECT_THAT(line_of("default", 1000, "other programs"), EndsWith("  default, disturbed\n"));
  EXPECT_THAT(line_of("batch", 500, "other programs"), EndsWith("  disturbed\n"));
  EXPECT_THAT(line_of("batch", 2000, "other programs"), EndsWith("  best so far, disturbed\n"));
  EXPECT_THAT(line_of(kConfirm, 1000, "other programs"), EndsWith("  confirming, disturbed\n"));
}

}  // namespace
}  // namespace redline::tuner
