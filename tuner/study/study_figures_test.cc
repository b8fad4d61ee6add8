#include "tuner/study/study_figures.h"

#include <gtest/gtest.h>

#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

class StudyFigures : public ::testing::Test {
 protected:
  void add(const Config& config, std::optional<double> rate, Outcome outcome = Outcome::kGpuOom) {
    add_trial(history_, config, rate ? ran_at(*rate) : ended_with(outcome));
  }
  void add(int batch, const std::string& amp, int workers, std::optional<double> rate) {
    add({{"batch_size", std::to_string(batch)},
         {"amp", amp},
         {"num_workers", std::to_string(workers)}},
        rate);
  }

  Space space_ = *make_space({"batch_size=1..4096", "amp=off,bf16", "num_workers=0..8"}, {"train"},
                             {.gpu = true, .cores = 8});
  History history_{space_};
};

TEST_F(StudyFigures, AStratumIsALineOfBatchSizesWithItsFrontier) {
  add(32, "off", 0, 100);
  add(512, "bf16", 0, std::nullopt);
  add(128, "bf16", 0, 300);
  add(64, "bf16", 0, 200);
  add(128, "bf16", 4, 350);  // the number of workers makes no stratum, so both are in one series
  const auto series = batch_series(history_);
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].name, "amp bf16") << "the fastest first";
  EXPECT_EQ(series[0].best_rate, 350);
  ASSERT_EQ(series[0].marks.size(), 4U);
  EXPECT_EQ(series[0].marks[0].x, 64);
  EXPECT_TRUE(series[0].marks[0].is_best);
  EXPECT_FALSE(series[0].marks[1].is_best) << "350 is faster at 128";
  EXPECT_TRUE(series[0].marks[2].is_best);
  EXPECT_EQ(series[0].marks[3].rate, std::nullopt);
  EXPECT_FALSE(series[0].marks[3].is_best) << "nothing ran at 512";
  EXPECT_EQ(series[0].marks[3].hint, "batch size 512, trial 2: gpu_oom");
  EXPECT_EQ(series[0].frontier.largest_ok, 128);
  EXPECT_EQ(series[0].frontier.smallest_failed, 512);
  EXPECT_EQ(series[0].frontier.middle(), 256);
  EXPECT_EQ(series[1].frontier.middle(), std::nullopt);
}

TEST_F(StudyFigures, AHangBelowWhatFitsIsNoFrontier) {
  add(64, "off", 0, 100);
  add({{"batch_size", "32"}, {"amp", "off"}}, std::nullopt, Outcome::kHang);
  EXPECT_EQ(batch_series(history_)[0].frontier.middle(), std::nullopt);
}

TEST_F(StudyFigures, CrashesSayNothingAboutABatchSize) {
  add(32, "off", 0, 100);
  add({{"batch_size", "64"}}, std::nullopt, Outcome::kCrash);
  add({}, 50);
  const auto series = batch_series(history_);
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0].marks.size(), 1U);
}

TEST_F(StudyFigures, AMarkSaysWhatItsTrialShowed) {
  add({{"batch_size", "64"}, {"amp", "bf16"}}, 1204);
  add(64, "off", 0, 90);
  History measured(space_, Objective::kSamplesPerJoule);
  for (FinishedTrial trial : history_.trials()) {
    trial.result.throughput->low -= 4;
    trial.result.disturbance = trial.id == 2 ? "other programs" : "";
    measured.add(trial);
  }
  EXPECT_EQ(convergence(history_)[0].hint, "trial 1: 1,204 samples/s");
  const auto marks = convergence(measured);
  EXPECT_EQ(marks[0].hint, "trial 1: 1,204 samples/J (1,200 to 1,204)");
  EXPECT_EQ(marks[1].hint, "trial 2: 90.0 samples/J (86.0 to 90.0), disturbed: other programs");
  EXPECT_EQ(marks[1].trial, 2);
  EXPECT_EQ(marks[1].x, 2);
  EXPECT_EQ(marks[1].rate, 90);
  EXPECT_EQ(marks[1].low, 86);
  EXPECT_EQ(marks[1].high, 90);
  EXPECT_TRUE(marks[1].is_disturbed);
  EXPECT_FALSE(marks[0].is_disturbed);
}

TEST_F(StudyFigures, StrataAreNamedByWhatTellsThemApart) {
  add({{"batch_size", "8"}, {"amp", "bf16"}, {"compile", "on"}, {"pin_memory", "on"}}, 3);
  add({{"batch_size", "8"}, {"amp", "off"}, {"compile", "on"}, {"pin_memory", "off"}}, 2);
  auto series = batch_series(history_);
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].name, "amp bf16") << "pinning takes none of it, and all compile";
  EXPECT_EQ(series[1].name, "amp off");
  history_ = History(space_);
  add(8, "off", 0, 3);
  add(0, "off", 0, 2);
  series = batch_series(history_);
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0].name, "all trials");
  EXPECT_EQ(series[0].marks.size(), 1U) << "a batch of nothing has no place";
  history_ = History(space_);
  add({{"batch_size", "8"}, {"compile", "on"}}, 2);
  add({{"batch_size", "8"}}, 1);
  series = batch_series(history_);
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].name, "compile on");
  EXPECT_EQ(series[1].name, "default") << "of a trial that leaves the other knobs alone";
}

TEST_F(StudyFigures, ConvergenceMarksEachNewBest) {
  add(32, "off", 0, 100);
  add(64, "off", 0, 90);
  add(4096, "off", 0, std::nullopt);
  add(48, "off", 0, 120);
  const auto marks = convergence(history_);
  ASSERT_EQ(marks.size(), 4U);
  EXPECT_TRUE(marks[0].is_best);
  EXPECT_FALSE(marks[1].is_best);
  EXPECT_EQ(marks[2].rate, std::nullopt);
  EXPECT_TRUE(marks[3].is_best);
  EXPECT_EQ(marks[3].x, 4);
}

TEST_F(StudyFigures, AFailureIsNoBestThoughItIsTheFirst) {
  add(4096, "off", 0, std::nullopt);
  add(32, "off", 0, 0.5);
  EXPECT_FALSE(convergence(history_)[0].is_best);
  EXPECT_TRUE(convergence(history_)[1].is_best);
}

TEST_F(StudyFigures, AKnobMattersAsMuchAsItsWorstValueLacksWhereNothingElseDiffers) {
  add(32, "off", 0, 100);
  add(32, "bf16", 0, 350);
  add(32, "bf16", 0, 450);  // the second run, so that the mean of both counts
  add(32, "bf16", 2, 500);
  const auto effects = knob_effects(history_, space_);
  ASSERT_EQ(effects.size(), 2U) << "only one batch size ran";
  EXPECT_EQ(effects[0].knob, "amp");
  EXPECT_DOUBLE_EQ(effects[0].at_stake(), 0.75);
  EXPECT_EQ(effects[1].knob, "num_workers");
  EXPECT_DOUBLE_EQ(effects[1].at_stake(), 0.2);
}

TEST_F(StudyFigures, TheKnobThatMattersMostIsTheFirst) {
  add(32, "off", 0, 100);
  add(32, "bf16", 0, 200);
  add(32, "off", 4, 400);
  const auto effects = knob_effects(history_, space_);
  ASSERT_EQ(effects.size(), 2U);
  EXPECT_EQ(effects[0].knob, "num_workers");
  EXPECT_DOUBLE_EQ(effects[0].at_stake(), 0.75);
  EXPECT_EQ(effects[1].knob, "amp");
  EXPECT_DOUBLE_EQ(effects[1].at_stake(), 0.5);
}

TEST_F(StudyFigures, OfTwoAlikeTheFirstCounts) {
  add(64, "off", 0, 100);
  add(64, "off", 4, 100);
  add(64, "bf16", 0, 50);
  add(64, "bf16", 4, 25);
  const auto series = batch_series(history_);
  EXPECT_TRUE(series[0].marks[0].is_best);
  EXPECT_FALSE(series[0].marks[1].is_best);
  EXPECT_FALSE(convergence(history_)[1].is_best);
  const auto effects = knob_effects(history_, space_);
  ASSERT_EQ(effects.size(), 2U);
  EXPECT_EQ(effects[0].knob, "amp");
  EXPECT_DOUBLE_EQ(effects[0].at_stake(), 0.5) << "of the trials without workers";
  EXPECT_EQ(effects[1].at_stake(), 0);
}

TEST_F(StudyFigures, TheSmallestBatchAndTheSlowestTrainingAreShown) {
  add(1, "off", 0, 0.5);
  add(2, "off", 0, std::nullopt);
  const auto series = batch_series(history_);
  ASSERT_EQ(series.size(), 1U);
  ASSERT_EQ(series[0].marks.size(), 2U);
  EXPECT_EQ(series[0].marks[0].x, 1);
  EXPECT_EQ(series[0].best_rate, 0.5);
}

TEST_F(StudyFigures, WhatAKnobMattersIsAShareHoweverSlowTheTrainingIs) {
  for (const int workers : {0, 4}) {  // of two sets of as many the one with the fastest counts
    add(32, "off", workers, 0.1);
    add(32, "bf16", workers, workers == 4 ? 0.5 : 0.2);
  }
  const auto effects = knob_effects(history_, space_);
  ASSERT_EQ(effects.size(), 2U);
  EXPECT_EQ(effects[0].knob, "amp");
  EXPECT_DOUBLE_EQ(effects[0].at_stake(), 0.8);
  EXPECT_DOUBLE_EQ(effects[1].at_stake(), 0.6);
}

TEST_F(StudyFigures, WhatChangedBesideAKnobIsNotItsDoing) {
  add(32, "off", 0, 100);
  add(32, "off", 1, 90);
  add(64, "off", 0, 200);
  add(128, "off", 0, 400);
  add(4096, "off", 0, std::nullopt);
  add(128, "bf16", 2, 800);
  add(128, "bf16", 0, std::nullopt);
  const auto effects = knob_effects(history_, space_);
  ASSERT_EQ(effects.size(), 2U) << "where amp changed alone, one value ran";
  EXPECT_EQ(effects[0].knob, "batch_size");
  EXPECT_EQ(effects[0].rate_by_value.size(), 4U) << "with the one that does not run";
  EXPECT_DOUBLE_EQ(effects[0].at_stake(), 0.75);
  EXPECT_EQ(effects[1].knob, "num_workers");
  EXPECT_NEAR(effects[1].at_stake(), 0.1, 1e-9);
}

}  // namespace
}  // namespace redline::tuner
