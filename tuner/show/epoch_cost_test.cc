#include "tuner/show/study_texts.h"

#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

Best twice_as_fast() {
  Best best;
  best.estimate.throughput.samples_per_s = 2000;
  best.default_estimate.emplace();
  best.default_estimate->throughput.samples_per_s = 1000;
  return best;
}

TEST(EpochCost, ALongerTimeIsWhatTheDefaultsTake) {
  Best best = twice_as_fast();
  best.epoch_samples = 50'000;
  EXPECT_EQ(epoch_cost_text(best, std::nullopt, "  "),
            "  an epoch of 50,000 samples takes 25.0 s, with the defaults 50.0 s\n");
  EXPECT_EQ(epoch_cost_text(best, 7.2, ""),
            "an epoch of 50,000 samples takes 25.0 s, with the defaults 50.0 s\n"
            "and costs 0.0500, with the defaults 0.100\n");
}

TEST(StepSamples, AnotherNumberOfThemMayAskForAnotherLearningRate) {
  Best best = twice_as_fast();
  EXPECT_EQ(step_samples_text(best, ""), "") << "nobody counted them";
  best.step_samples = 2304;
  EXPECT_EQ(step_samples_text(best, ""), "") << "the defaults' are unknown";
  best.default_step_samples = 256;
  EXPECT_EQ(step_samples_text(best, "  "),
            "  2,304 samples a step, not 256; the learning rate stays the same\n");
  best.default_step_samples = 2304;
  EXPECT_EQ(step_samples_text(best, ""), "");
  best.default_step_samples = 256;
  best.latency.emplace();
  EXPECT_EQ(step_samples_text(best, ""), "") << "inference has no learning rate";
}

TEST(EpochCost, SamplesAreWholeNumbers) {
  Best best = twice_as_fast();
  best.epoch_samples = 12;
  EXPECT_EQ(epoch_cost_text(best, std::nullopt, "").find("an epoch of 12 samples takes "), 0U);
}

TEST(EpochCost, WithoutAnEpochAMillionSamplesHaveAPrice) {
  Best best = twice_as_fast();
  EXPECT_EQ(epoch_cost_text(best, std::nullopt, ""), "");
  EXPECT_EQ(epoch_cost_text(best, 3.6, ""),
            "a million samples cost 0.500, with the defaults 1.00\n");
  best.is_default = true;
  EXPECT_EQ(epoch_cost_text(best, 3.6, ""), "a million samples cost 0.500\n");
}

}  // namespace
}  // namespace redline::tuner
