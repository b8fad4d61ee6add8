#include "tuner/search/step_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tuner/search/testing_history.h"
#include "tuner/search/testing_machine.h"

namespace redline::tuner {
namespace {

/// Each worker gives 1,000 samples a second. Compute does 4,000, with bf16 16,000, and launches
/// take 4 ms.
double rate_of(double batch, int workers, bool reduced) {
  const double compute = std::max(0.004, batch / (reduced ? 16000.0 : 4000.0));
  return batch / std::max(compute, batch / (1000.0 * workers));
}

class StepModelOf : public ::testing::Test {
 protected:
  void add(int batch, int workers, const std::string& amp, double slower = 1,
           std::optional<uint64_t> memory = {}) {
    const double rate = rate_of(batch, workers, amp != "off") / slower;
    TrialResult result = ran_at(rate, 0.01 * rate);
    result.ranks = memory ? 1 : 0;  // whoever tells the memory reports
    result.peak_memory_bytes = memory;
    add_trial(history_, config(batch, workers, amp), result);
  }
  static Config config(int batch, int workers, const std::string& amp) {
    return {{"batch_size", std::to_string(batch)},
            {"num_workers", std::to_string(workers)},
            {"amp", amp}};
  }
  [[nodiscard]] StepModel model() {
    memory_.emplace(space_, settings_, history_);
    return {space_, settings_, history_, *memory_};
  }
  /// The difference between the slowest and the fastest of all plausible fits.
  [[nodiscard]] double doubt(const Config& config) {
    const StepModel fitted = model();
    const auto rates = fitted.log_rates(fitted.place(config));
    const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
    return *high - *low;
  }

  Space space_ =
      *make_space({"batch_size=1..1024", "amp=off,bf16", "num_workers=0..16"},
                  {"train", "{batch_size}{amp}{num_workers}"}, {.gpu = true, .cores = 16});
  SearchSettings settings_{.machine = {.gpu = true, .gpus = 1, .cores = 16},
                           .memory_limit_bytes = {}};
  History history_{space_};
  std::optional<MemoryModel> memory_;  ///< of the model made last
};

TEST_F(StepModelOf, TellsTheLoaderFromCompute) {
  for (const int workers : {1, 2, 8}) add(128, workers, "off");
  add(32, 8, "off");
  const StepModel fitted = model();
  const StepParts slow = fitted.parts(fitted.place(config(128, 1, "off")));
  EXPECT_LT(slow.loader, slow.compute);
  EXPECT_NEAR(slow.rate, 1000, 100);
  const StepParts fast = fitted.parts(fitted.place(config(128, 12, "off")));
  EXPECT_LT(fast.compute, fast.loader);
  EXPECT_NEAR(fast.rate, 4000, 400);
}

TEST_F(StepModelOf, KeepingMemoryIsExpectedToGainTenPercentWithoutAGpuAndFiveWithOne) {
  space_ = *make_space({"batch_size=1..1024", "malloc=default,keep"}, {"train"}, {.cores = 16});
  for (const bool gpu : {false, true}) {
    settings_.machine.gpu = gpu;
    history_ = History(space_);
    Config config = {{"batch_size", "64"}, {"malloc", "default"}};
    for (const char* size : {"64", "128", "256"}) {
      config["batch_size"] = size;
      add_trial(history_, config, ran_at(4000));
    }
    const StepModel fitted = model();
    const double before = fitted.parts(fitted.place(config)).rate;
    config["malloc"] = "keep";
    EXPECT_NEAR(std::log(fitted.parts(fitted.place(config)).rate / before), gpu ? 0.05 : 0.1, 0.01);
  }
}

TEST_F(StepModelOf, ARateOfNothingTellsNothing) {
  for (const int batch : {32, 128}) add(batch, 8, "off");
  const double before = model().parts(model().place(config(64, 8, "off"))).rate;
  add_trial(history_, config(64, 4, "off"), ran_at(0));
  EXPECT_DOUBLE_EQ(model().parts(model().place(config(64, 8, "off"))).rate, before);
}

TEST_F(StepModelOf, ARunOfTwoThirdsOfAnothersRateWasSlowedByOtherThings) {
  for (const int batch : {32, 64, 128}) add(batch, 8, "off");
  const auto rate = [&] { return model().parts(model().place(config(128, 8, "off"))).rate; };
  add(128, 8, "off", 1.5);
  EXPECT_NEAR(rate(), 4000, 80);
  add(128, 8, "off", 1.3);
  EXPECT_LT(rate(), 3800);
}

TEST_F(StepModelOf, LearnsWhatNeighboursCost) {
  const auto add_beside = [&](int batch, int neighbours, double slower) {
    TrialResult result = ran_at(4000 / slower, 40 / slower);
    result.neighbours = neighbours;
    add_trial(history_, config(batch, 16, "off"), result);
  };
  add_beside(64, 0, 1);
  for (const int batch : {128, 256}) add_beside(batch, 1, 1 / 0.6);
  add_beside(128, 0, 1);
  const StepModel fitted = model();
  const auto rate = [&](int batch, bool alone) {
    return fitted.parts(fitted.place(config(batch, 16, "off"), alone)).rate;
  };
  for (const int batch : {64, 128}) {
    EXPECT_NEAR(rate(batch, false), 2400, 200) << batch;
    EXPECT_NEAR(rate(batch, true), 4000, 300) << batch;
  }
  EXPECT_LT(fitted.noise(), 0.05) << "runs alone and beside others are no runs of the same";
}

TEST_F(StepModelOf, WhatALoaderHidStaysInDoubt) {
  for (const int batch : {64, 256}) {
    add(batch, 2, "off");
    add(batch, 2, "bf16");  // no faster, because the loader limits
  }
  EXPECT_LT(doubt(config(256, 2, "bf16")), 0.2);
  EXPECT_GT(doubt(config(256, 16, "bf16")), 0.5) << "it may be much faster with more workers";
}

/// How much faster the next batch size below a slow one may be, by the most hopeful fit.
double hope(const StepModel& model, const Config& next, const Config& best) {
  double most = 0;
  for (size_t member = 0; member < model.members(); ++member) {
    const double rate = model.parts(member, model.place(next)).rate;
    most = std::max(most, rate / model.parts(member, model.place(best)).rate);
  }
  return most;
}

TEST_F(StepModelOf, ASlowLargestBatchMayMeanThatMemoryIsNearlyFull) {
  for (const int batch : {8, 10, 12}) add(batch, 8, "off");
  add(14, 8, "off", 1.3);
  const double hope_if_unknown = hope(model(), config(13, 8, "off"), config(12, 8, "off"));
  history_ = History(space_);
  for (const int batch : {8, 10, 12}) add(batch, 8, "off", 1, 1'000'000'000);
  add(14, 8, "off", 1.3, 1'100'000'000);
  const double hope_if_known = hope(model(), config(13, 8, "off"), config(12, 8, "off"));
  EXPECT_GT(hope_if_unknown, hope_if_known + 0.01);
}

TEST_F(StepModelOf, NearlyFullMemoryIsNotBlamedOnASwitch) {
  add(64, 16, "off", 1, 400);
  add(128, 16, "off", 1, 700);
  add(256, 16, "bf16", 1.25, 980);
  const auto with_bf16 = [&] {
    const StepModel fitted = model();
    return fitted.parts(fitted.place(config(128, 16, "bf16"))).rate;
  };
  const double without_a_limit = with_bf16();
  settings_.memory_limit_bytes = 1000;
  EXPECT_GT(with_bf16(), 1.08 * without_a_limit);
}

TEST_F(StepModelOf, TheSearchAsksAgainForWhatALoaderHid) {
  for (const int batch : {64, 256}) {
    add(batch, 2, "off");
    add(batch, 2, "bf16");
  }
  add(256, 1, "off");
  const auto next = make_model(space_, settings_)->ask(history_);
  ASSERT_TRUE(next);
  EXPECT_GT(std::stoi(next->config.at("num_workers")), 2);
  EXPECT_EQ(next->why.substr(0, 6), "loader");
  ASSERT_TRUE(next->expected);
  EXPECT_LT(next->expected->score.low, next->expected->score.high);
}

}  // namespace
}  // namespace redline::tuner
