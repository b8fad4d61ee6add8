#include "tuner/trial/measurement.h"

#include <gtest/gtest.h>

#include <random>

namespace redline::tuner {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

Measurement::Plan plan() {
  return {.measure_for = std::chrono::seconds(10), .min_steps = 10, .enough = 0.01};
}

/// Reports `steps` steps of a rank; each lasts `duration_ns(step)`.
template <typename Duration>
void train(Measurement& measurement, int rank, int world_size, int64_t steps, int64_t batch,
           Duration duration_ns, int64_t begin_ns = 1) {
  int64_t now = begin_ns;
  for (int64_t step = 1; step <= steps; ++step) {
    now += duration_ns(step);
    measurement.add({rank, world_size, now, step, step * batch, std::nullopt});
  }
}

int64_t ten_milliseconds(int64_t) { return 10 * kMillisecond; }

TEST(Measurement, NothingIsNothing) {
  Measurement measurement(plan());
  EXPECT_EQ(measurement.steps(), 0);
  EXPECT_EQ(measurement.estimate(), std::nullopt);
  EXPECT_FALSE(measurement.complete());
  EXPECT_EQ(measurement.median_step_ns(), 0);
  EXPECT_EQ(measurement.first_ns(), 0);
  EXPECT_EQ(measurement.readers(), 1);
  EXPECT_EQ(measurement.drift(), 0);
  EXPECT_FALSE(measurement.tokens_per_sample());
}

TEST(Measurement, SamplesThatRanksShareCountOnce) {
  // Two pairs of tensor parallel ranks: each pair reads batches of its own.
  Measurement measurement(plan());
  for (const int rank : {0, 1, 2, 3}) {
    int64_t now = 1;
    for (int64_t step = 1; step <= 100; ++step) {
      now += ten_milliseconds(step);
      StepReport report{rank, 4, now, step, step * 32, std::nullopt};
      if (step >= 2) report.batches_digest = rank < 2 ? "first" : "second";
      measurement.add(report);
    }
  }
  EXPECT_EQ(measurement.readers(), 2);
  EXPECT_EQ(measurement.median_step_samples(), 64);
  ASSERT_TRUE(measurement.estimate().has_value());
  EXPECT_NEAR(measurement.estimate()->samples_per_s, 6400, 1e-6);
}

TEST(Measurement, ASteadyTrainingIsExact) {
  Measurement measurement(plan());
  train(measurement, 0, 1, 100, 32, ten_milliseconds);
  const auto estimate = measurement.estimate();
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(estimate->samples_per_s, 3200, 1e-6);
  EXPECT_NEAR(estimate->low, 3200, 1e-6);
  EXPECT_NEAR(estimate->high, 3200, 1e-6);
  const auto window = measurement.window(10);
  ASSERT_TRUE(window);
  EXPECT_LT(window->steps, measurement.steps()) << "the first steps do not count";
  EXPECT_NEAR(window->samples, 32.0 * static_cast<double>(window->steps), 1e-6);
  EXPECT_EQ(measurement.median_step_ns(), 10 * kMillisecond);
}

TEST(Measurement, RanksAddUpAndTheSlowestCountsTheSteps) {
  Measurement measurement(plan());
  train(measurement, 0, 2, 100, 32, ten_milliseconds);
  EXPECT_EQ(measurement.steps(), 0) << "rank 1 has not spoken yet";
  EXPECT_FALSE(measurement.estimate());
  train(measurement, 1, 2, 90, 16, ten_milliseconds, 3 * kMillisecond);
  EXPECT_EQ(measurement.steps(), 90);
  EXPECT_NEAR(measurement.estimate()->samples_per_s, 3200 + 1600, 1);
  EXPECT_EQ(measurement.first_ns(), 10 * kMillisecond + 1);
}

TEST(Measurement, OnlyTheTimeCountsInWhichAllRanksReported) {
  Measurement measurement(plan());
  train(measurement, 0, 2, 100, 32, ten_milliseconds);
  train(measurement, 1, 2, 30, 32, ten_milliseconds, 595 * kMillisecond);
  EXPECT_NEAR(measurement.estimate()->samples_per_s, 6400, 1e-6);
  const auto window = measurement.window(10);
  ASSERT_TRUE(window);
  EXPECT_GE(window->spans.front().begin_ns, 630 * kMillisecond + 1);
  EXPECT_EQ(window->spans.back().end_ns, 890 * kMillisecond + 1);
}

TEST(Measurement, BetweenTwoReportsOfARankItsTotalsAreInterpolated) {
  Measurement measurement(plan());
  train(measurement, 0, 2, 100, 32, ten_milliseconds);
  for (const int64_t step : {1, 100}) {
    measurement.add({1, 2, 10 * step * kMillisecond + 1, step, step * 32, std::nullopt});
  }
  EXPECT_NEAR(measurement.estimate()->samples_per_s, 6400, 1e-6);
  EXPECT_NEAR(measurement.estimate()->low, 6400, 1e-6);
}

TEST(Measurement, SequencesHaveAMeanLengthWhereEveryRankTellsIt) {
  Measurement measurement(plan());
  const auto report = [&](int rank, int64_t step, std::optional<int64_t> tokens) {
    StepReport line{rank, 2, step * 10, step, step * 4, std::nullopt};
    line.tokens = tokens;
    measurement.add(line);
  };
  report(0, 1, 900);  // the program fetched one batch more before the first report
  EXPECT_FALSE(measurement.tokens_per_sample());
  report(0, 3, 900 + 8 * 100);
  EXPECT_DOUBLE_EQ(measurement.tokens_per_sample().value_or(0), 100);
  report(1, 1, 400);
  report(1, 3, 400 + 8 * 50);
  EXPECT_DOUBLE_EQ(measurement.tokens_per_sample().value_or(0), 75);
  report(1, 4, std::nullopt);
  EXPECT_FALSE(measurement.tokens_per_sample());
  Measurement of_one_sample(plan());
  for (const int64_t step : {1, 2}) {
    StepReport line{0, 1, step * 10, step, step, std::nullopt};
    line.tokens = step * 70;
    of_one_sample.add(line);
  }
  EXPECT_DOUBLE_EQ(of_one_sample.tokens_per_sample().value_or(0), 70);
}

TEST(Measurement, StepSizeIsOfAllRanksAndForgivesTheLastBatchOfAnEpoch) {
  Measurement measurement(plan());
  for (int rank = 0; rank < 2; ++rank) {
    int64_t samples = 0;
    for (int64_t step = 1; step <= 30; ++step) {
      samples += step % 5 == 0 ? 3 : 32;
      measurement.add({rank, 2, step * kMillisecond, step, samples, std::nullopt});
    }
  }
  EXPECT_EQ(measurement.median_step_samples(), 64);
}

TEST(Measurement, DataWaitIsAShareOfTheRanksTime) {
  Measurement measurement(plan());
  EXPECT_EQ(measurement.data_wait_share(), std::nullopt);
  for (int rank = 0; rank < 2; ++rank) {
    for (int64_t step = 1; step <= 5; ++step) {
      StepReport report{rank, 2, step * 10 * kMillisecond, step, step * 32, std::nullopt};
      report.data_wait_ns = 7 + step * (rank == 0 ? 2 : 4) * kMillisecond;
      measurement.add(report);
    }
  }
  EXPECT_DOUBLE_EQ(measurement.data_wait_share().value(), 0.3);
  Measurement evaluated(plan());
  for (int64_t step = 1; step <= 2; ++step) {
    StepReport report{0, 1, step * 100, step, step * 32, std::nullopt};
    report.data_wait_ns = step * 30;
    report.evaluation_ns = 10 + step * 25;
    evaluated.add(report);
  }
  EXPECT_DOUBLE_EQ(evaluated.data_wait_share().value(), 0.4) << "of the time that it trained";
  StepReport late{1, 2, 100, 1, 32, std::nullopt};
  evaluated.add(late);
  late.time_ns = 200;
  late.steps = 2;
  late.samples = 64;
  late.data_wait_ns = 90;
  evaluated.add(late);
  EXPECT_DOUBLE_EQ(evaluated.data_wait_share().value(), 0.4) << "of the rank that always told it";
  Measurement waiting(plan());
  for (int64_t step = 1; step <= 2; ++step) {
    EXPECT_FALSE(waiting.data_wait_share());
    StepReport report{0, 1, step * 100, step, step * 32, std::nullopt};
    report.data_wait_ns = step * 150;
    waiting.add(report);
  }
  EXPECT_EQ(waiting.data_wait_share(), 1.0);
}

/// Reports steps of 10 ms. After every tenth the rank evaluates for 200 ms or, if another rank
/// evaluates, waits.
void train_and_evaluate(Measurement& measurement, int rank, int world_size, bool evaluates) {
  int64_t now = 1;
  int64_t evaluation = 0;
  for (int64_t step = 1; step <= 100; ++step) {
    now += 10 * kMillisecond;
    StepReport report{rank, world_size, now, step, step * 32, std::nullopt};
    report.evaluation_ns = evaluates ? evaluation : 0;
    measurement.add(report);
    if (step % 10 != 0) continue;
    now += 200 * kMillisecond;
    evaluation += 200 * kMillisecond;
  }
}

TEST(Measurement, EvaluationIsNoTimeOfTheSamples) {
  Measurement alone(plan());
  train_and_evaluate(alone, 0, 1, true);
  EXPECT_NEAR(alone.estimate()->samples_per_s, 3200, 1e-6);
  EXPECT_NEAR(alone.estimate()->low, 3200, 1e-6);

  Measurement second_of_two(plan());
  train_and_evaluate(second_of_two, 0, 2, false);
  train_and_evaluate(second_of_two, 1, 2, true);
  EXPECT_NEAR(second_of_two.estimate()->samples_per_s, 6400, 1e-6);

  Measurement untrained(plan());
  for (int64_t step = 1; step <= 20; ++step) {
    StepReport report{0, 1, step * kMillisecond, step, step * 32, std::nullopt};
    report.evaluation_ns = step * kMillisecond;
    untrained.add(report);
  }
  EXPECT_FALSE(untrained.estimate()) << "no time is left";
}

TEST(Measurement, EvaluationIsNotInTheWindowWhoseEnergyCounts) {
  Measurement measurement(plan());
  train_and_evaluate(measurement, 0, 2, false);
  train_and_evaluate(measurement, 1, 2, true);
  const auto window = measurement.window(10);
  ASSERT_TRUE(window);
  // Each span ends with the report before an evaluation, and the next begins with the one after it.
  ASSERT_EQ(window->spans.size(), 8U) << "less warm-up";
  for (const auto& span : window->spans) EXPECT_LE(span.end_ns - span.begin_ns, 90 * kMillisecond);
  EXPECT_EQ(window->spans[1].end_ns - window->spans[1].begin_ns, 90 * kMillisecond);
  EXPECT_EQ(window->spans[2].begin_ns - window->spans[1].end_ns, 210 * kMillisecond);
  EXPECT_NEAR(window->samples / window->seconds(), 6400, 1e-6);
}

TEST(Measurement, ASignOfLifeBetweenStepsIsNoStep) {
  Measurement measurement(plan());
  train(measurement, 0, 1, 100, 32, ten_milliseconds);
  const int64_t before = measurement.latest_ns();
  measurement.add({0, 1, before + 1000 * kMillisecond, 100, 3200, std::nullopt});
  EXPECT_EQ(measurement.latest_ns(), before + 1000 * kMillisecond);
  EXPECT_NEAR(measurement.estimate()->samples_per_s, 3200, 1e-6);
}

TEST(Measurement, WarmUpIsCut) {
  Measurement measurement(plan());
  train(measurement, 0, 1, 200, 32, [](int64_t step) {
    return (step <= 40 ? 100 - 2 * step : 10) * kMillisecond;  // settles from 98 to 10 ms
  });
  EXPECT_NEAR(measurement.estimate()->samples_per_s, 3200, 60);
}

TEST(Measurement, TheIntervalHoldsTheTruthAboutAsOftenAsItSays) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(10e6, 1e6);
  int held = 0;
  constexpr int kRuns = 200;
  for (int run = 0; run < kRuns; ++run) {
    Measurement measurement(plan());
    train(measurement, 0, 1, 150, 32,
          [&](int64_t) { return static_cast<int64_t>(std::max(1e6, noise(random))); });
    const auto estimate = measurement.estimate();
    held += estimate->low <= 3200 && 3200 <= estimate->high ? 1 : 0;
  }
  EXPECT_GE(held, kRuns * 88 / 100);
}

TEST(Measurement, ANarrowIntervalEndsItEarlyAWideOneAtTheEndOfThePlan) {
  Measurement steady(plan());
  train(steady, 0, 1, 200, 32, ten_milliseconds);
  EXPECT_FALSE(steady.complete()) << "two of ten seconds";
  train(steady, 0, 1, 400, 32, ten_milliseconds);
  EXPECT_TRUE(steady.complete()) << "four of ten seconds, no noise";

  const auto wild = [](int64_t step) { return (step * step % 17 + 1) * kMillisecond; };
  Measurement noisy(plan());
  train(noisy, 0, 1, 500, 32, wild);
  EXPECT_FALSE(noisy.complete());
  train(noisy, 0, 1, 2500, 32, wild);
  EXPECT_TRUE(noisy.complete());
}

TEST(Measurement, WhatIsSurelySlowerIsBehindWhatMightNotIsNot) {
  Measurement::Plan against = plan();
  against.rate_to_beat = 3000;
  const auto noisy = [](int64_t slow) {
    return [slow](int64_t step) { return (slow + (step * 7 % 5)) * kMillisecond; };
  };
  Measurement slower(against);
  EXPECT_FALSE(slower.behind()) << "nothing was measured";
  train(slower, 0, 1, 60, 32, noisy(13));
  EXPECT_FALSE(slower.behind()) << "0.9 s: too early to say";
  train(slower, 0, 1, 120, 32, noisy(13));
  EXPECT_TRUE(slower.behind());
  EXPECT_FALSE(slower.complete());
  Measurement near(against);
  train(near, 0, 1, 120, 32, noisy(8));
  EXPECT_FALSE(near.behind());
  Measurement alone(plan());
  train(alone, 0, 1, 120, 32, noisy(13));
  EXPECT_FALSE(alone.behind()) << "nobody to beat";
  against.rate_to_beat = 0.9;  // less than one sample a second
  Measurement large(against);
  train(large, 0, 1, 60, 1, [](int64_t) { return 4'000 * kMillisecond; });
  EXPECT_TRUE(large.behind());
}

/// A loader that can give 32 samples/s, of batches of 8, after a stock of `ahead` batches. The
/// loop takes 125 ms for one. The stock lasts twice as many steps, because workers go on meanwhile.
void train_from_stock(Measurement& measurement, int64_t steps, int64_t ahead,
                      int64_t batches_a_step = 1) {
  int64_t now = 1;
  int64_t waited = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    const bool waits = step > 1 + 2 * ahead;
    now += (waits ? 250 : 125) * kMillisecond;
    waited += waits ? 125 * kMillisecond : 0;
    StepReport report{0, 1, now, step, step * 8 * batches_a_step, std::nullopt};
    report.data_wait_ns = waited;
    report.batches_ahead = ahead;
    measurement.add(report);
  }
}

TEST(Measurement, BatchesThatWereMadeAheadAreWarmUp) {
  Measurement of_the_stock(plan());
  train_from_stock(of_the_stock, 33, 16);
  EXPECT_FALSE(of_the_stock.complete()) << "four seconds without noise";
  EXPECT_NEAR(of_the_stock.estimate()->samples_per_s, 64, 1e-6) << "for a job that ends now";
  EXPECT_TRUE(of_the_stock.covers_batches_made_ahead(4));
  Measurement measurement(plan());
  train_from_stock(measurement, 33 + 13, 16);
  EXPECT_NEAR(measurement.estimate()->samples_per_s, 32, 1e-6);
  EXPECT_EQ(measurement.window(4)->steps, 13);
  EXPECT_TRUE(measurement.complete()) << "3.25 s without noise";
  EXPECT_FALSE(measurement.covers_batches_made_ahead(4));
  Measurement unaware(plan());
  train_from_stock(unaware, 33, 0);
  EXPECT_FALSE(unaware.covers_batches_made_ahead(4)) << "no rank says that batches are made ahead";
}

TEST(Measurement, WhoWaitsHasNothingMadeAhead) {
  Measurement measurement(plan());
  int64_t now = 1;
  for (int64_t step = 1; step <= 20; ++step) {
    now += 250 * kMillisecond;
    StepReport report{0, 1, now, step, step * 8, std::nullopt};
    report.data_wait_ns = step * 125 * kMillisecond / 2;
    report.batches_ahead = 1000;
    measurement.add(report);
  }
  EXPECT_TRUE(measurement.complete()) << "a quarter of each step";
  EXPECT_FALSE(measurement.covers_batches_made_ahead(4));
}

TEST(Measurement, AStockOutlastsThePlannedTime) {
  Measurement::Plan shorter = plan();
  shorter.measure_for = std::chrono::seconds(1);
  const auto with = [&](int64_t steps) {
    Measurement measurement(shorter);
    train_from_stock(measurement, steps, 1000);
    return measurement;
  };
  EXPECT_FALSE(with(18).complete()) << "one second is warm-up, and nine steps are too few";
  EXPECT_TRUE(with(19).complete());
  EXPECT_EQ(with(19).window(4)->steps, 10);
  EXPECT_TRUE(with(19).covers_batches_made_ahead(4));
  shorter.rate_to_beat = 65;
  EXPECT_TRUE(with(15).behind()) << "without a stock it is no faster";
}

TEST(Measurement, AStepMayTakeSeveralOfTheBatchesMadeAhead) {
  Measurement measurement(plan());
  measurement.set_batch_size(8);
  train_from_stock(measurement, 29, 16, 4);
  // Eight steps after the first take 32 batches.
  EXPECT_EQ(measurement.window(4)->steps, 20);
  EXPECT_FALSE(measurement.covers_batches_made_ahead(4));
}

/// Two steps of 9 ms, two of 11, and so on. Of 43 steps the last 40 count, as 20 blocks of two.
int64_t by_turns(int64_t step) { return ((step / 2) % 2 == 0 ? 9 : 11) * kMillisecond; }

TEST(Measurement, TheIntervalIsThatOfItsBlocks) {
  Measurement measurement(plan());
  train(measurement, 0, 1, 43, 10, by_turns);
  const auto estimate = measurement.estimate();
  ASSERT_TRUE(estimate);
  // 20 blocks, each 10 % off: an error of 10 % / sqrt(19), and 2.093 of them on each side.
  EXPECT_NEAR(estimate->samples_per_s, 1000, 1e-6);
  EXPECT_NEAR(estimate->low, 1000 / 1.04802, 0.01);
  EXPECT_NEAR(estimate->high, 1048.02, 0.01);
  EXPECT_DOUBLE_EQ(measurement.window(40)->seconds(), 0.4);
  EXPECT_EQ(measurement.window(40)->steps, 40);
  EXPECT_FALSE(measurement.window(41));
}

TEST(Measurement, WarmUpIsCutAtOneOf64Places) {
  Measurement measurement(plan());
  train(measurement, 0, 1, 131, 10,
        [](int64_t step) { return step <= 23 ? 100 * kMillisecond : by_turns(step); });
  EXPECT_EQ(measurement.window(10)->steps, 131 - 23) << "a place after every second step";
  EXPECT_NEAR(measurement.estimate()->samples_per_s, 1000, 1e-6);
}

TEST(Measurement, AnIntervalWithoutAnUpperEndIsCutAtTwiceTheRate) {
  Measurement wild(plan());
  train(wild, 0, 1, 11, 10, [](int64_t step) { return (step % 4 < 2 ? 1 : 99) * kMillisecond; });
  const auto estimate = wild.estimate(4);
  ASSERT_TRUE(estimate);
  EXPECT_LT(estimate->low, estimate->samples_per_s / 2);
  EXPECT_NEAR(estimate->high, 2 * estimate->samples_per_s, 1e-6);
}

TEST(Measurement, ItEndsWhereItsPlanSays) {
  const auto with = [](const Measurement::Plan& plan) {
    Measurement measurement(plan);
    train(measurement, 0, 1, 43, 10, by_turns);
    return measurement;
  };
  using std::chrono::milliseconds;
  Measurement::Plan wide{.measure_for = milliseconds(401), .min_steps = 40, .enough = 0.047};
  EXPECT_FALSE(with(wide).complete()) << "0.400 s, and an interval of 4.8 %";
  wide.enough = 0.049;
  EXPECT_TRUE(with(wide).complete());
  wide.measure_for = milliseconds(1601);
  EXPECT_FALSE(with(wide).complete()) << "not yet a quarter of the time";
  wide.measure_for = milliseconds(1600);
  EXPECT_TRUE(with(wide).complete());
  wide.min_steps = 41;
  EXPECT_FALSE(with(wide).complete());
  EXPECT_TRUE(with({.measure_for = milliseconds(400), .enough = 0}).complete());

  Measurement::Plan against{.measure_for = milliseconds(4000), .rate_to_beat = 1072.1};
  EXPECT_TRUE(with(against).behind()) << "1,000 and one and a half times 4.8 %";
  against.rate_to_beat = 1071.9;
  EXPECT_FALSE(with(against).behind());
  against = {.measure_for = milliseconds(4001), .rate_to_beat = 1072.1};
  EXPECT_FALSE(with(against).behind()) << "not yet a tenth of the time";
}

TEST(Measurement, ADriftIsTheChangeFromItsFirstHalfToItsSecond) {
  const auto drift = [](int64_t last_ms_times_ten) {
    Measurement measurement(plan());
    train(measurement, 0, 1, 43, 10, [last_ms_times_ten](int64_t step) {
      return (step <= 33 ? 100 : last_ms_times_ten) * kMillisecond / 10;
    });
    return measurement.drift();
  };
  EXPECT_NEAR(drift(150), -0.2, 1e-9) << "12.5 ms after 10 ms";
  EXPECT_NEAR(drift(60), 0.25, 1e-9);
  EXPECT_EQ(drift(120), 0) << "9 % is not worth a word";
  Measurement wild(plan());
  train(wild, 0, 1, 43, 10, [](int64_t step) {
    const bool is_slow = (step / 2) % 2 == 0;
    return (step <= 23 ? (is_slow ? 15 : 5) : (is_slow ? 17 : 6)) * kMillisecond;
  });
  EXPECT_EQ(wild.drift(), 0) << "13 %, where blocks differ threefold";
  EXPECT_NEAR(drift(124), 10 / 11.2 - 1, 1e-9);
}

TEST(Measurement, ADriftNeedsEightBlocksThatShowIt) {
  const auto drift = [](int64_t steps, auto halves_of_a_millisecond) {
    Measurement measurement(plan());
    train(measurement, 0, 1, steps, 10,
          [&](int64_t step) { return halves_of_a_millisecond(step) * kMillisecond / 2; });
    return measurement.drift();
  };
  // After three steps come blocks of two: five of 10 ms, one of 12.5 ms and two of 15 ms.
  EXPECT_NEAR(drift(19, [](int64_t step) { return step <= 13   ? 20
                                                  : step <= 15 ? 25
                                                               : 30; }),
              10 / 13.125 - 1, 1e-9);
  EXPECT_EQ(drift(19, [](int64_t step) { return step <= 15 ? 20 : 30; }), 0)
      << "10, 10, 15 and 15 ms after four times 10 ms may be chance";
  EXPECT_EQ(drift(18,
                  [](int64_t step) {
                    const int64_t mean = step <= 9 ? 20 : 28;
                    return step == 18 ? mean : mean + (step % 2 == 0 ? 8 : -8);
                  }),
            0)
      << "three blocks of 10 ms and four of 14 ms";
}

TEST(Measurement, TheMedianStepIsInTheMiddleByLength) {
  Measurement single(plan());
  single.add({0, 1, 7, 1, 10, std::nullopt});
  EXPECT_EQ(single.median_step_ns(), 0) << "nothing lies between two reports";
  single.add({0, 1, 12, 2, 30, std::nullopt});
  EXPECT_EQ(single.median_step_ns(), 5);
  EXPECT_EQ(single.median_step_samples(), 20);
  Measurement measurement(plan());
  const int64_t lengths[] = {7, 9, 1, 5};
  train(measurement, 0, 1, 4, 10, [&](int64_t step) { return lengths[step - 1]; });
  EXPECT_EQ(measurement.median_step_ns(), 5);
  for (int64_t step : {1, 2, 4, 8})
    measurement.add({1, 2, step * 100, step, step * 6, std::nullopt});
  EXPECT_EQ(measurement.median_step_ns(), 100) << "9, 1, 5, and three of 100";
  EXPECT_EQ(measurement.median_step_samples(), 20);
}

TEST(Measurement, DriftIsNoticedAndNoiseIsNot) {
  Measurement throttled(plan());
  train(throttled, 0, 1, 200, 32,
        [](int64_t step) { return (step < 150 ? 10 : 13) * kMillisecond + step % 3; });
  EXPECT_LT(throttled.drift(), -0.1);
  Measurement noisy(plan());
  train(noisy, 0, 1, 200, 32, [](int64_t step) { return (8 + step * 7 % 5) * kMillisecond; });
  EXPECT_EQ(noisy.drift(), 0);
}

TEST(Measurement, FewStepsAreNoResultHoweverLongTheyTook) {
  Measurement measurement(plan());
  train(measurement, 0, 1, 9, 32, [](int64_t) { return int64_t{5'000'000'000}; });
  EXPECT_EQ(measurement.estimate(), std::nullopt);
  EXPECT_FALSE(measurement.complete());
  EXPECT_TRUE(measurement.estimate(4));
  const auto of = [](int64_t steps) {
    Measurement few(plan());
    train(few, 0, 1, steps, 32, [](int64_t step) { return (10 + step % 2) * kMillisecond; });
    return few;
  };
  EXPECT_FALSE(of(6).estimate(4));
  EXPECT_TRUE(of(7).estimate(4)) << "two to warm up, and one to begin with";
  EXPECT_FALSE(of(7).estimate(5));
  Measurement slow_start(plan());
  int64_t now = 1;
  for (int64_t report = 1; report <= 9; ++report) {
    now += (report <= 6 ? 100 : 10) * kMillisecond;
    slow_start.add({0, 1, now, 2 * report, 64 * report, std::nullopt});
  }
  EXPECT_FALSE(slow_start.estimate(4)) << "three reports after the warm-up";
}

TEST(Measurement, LostLinesLoseNoSample) {
  Measurement measurement(plan());
  for (int64_t step = 1; step <= 300; ++step) {
    if (step % 3 == 0) {
      measurement.add({0, 1, step * 10 * kMillisecond, step, step * 32, std::nullopt});
    }
  }
  EXPECT_NEAR(measurement.estimate()->samples_per_s, 3200, 1e-6);
  EXPECT_EQ(measurement.median_step_ns(), 10 * kMillisecond);
  EXPECT_EQ(measurement.median_step_samples(), 32);
}

TEST(Measurement, ReportsThatRunBackwardsAreLeftOut) {
  Measurement measurement(plan());
  train(measurement, 0, 1, 50, 32, ten_milliseconds);
  measurement.add({0, 1, 5, 60, 0, std::nullopt});
  measurement.add({0, 1, 60 * 10 * kMillisecond, 3, 96, std::nullopt});
  measurement.add({0, 1, 60 * 10 * kMillisecond, 60, 96, std::nullopt});
  measurement.add({0, 1, 60 * 10 * kMillisecond, 3, 9'600, std::nullopt});
  // As long as one of the three figures stands still, the report is not of this process either.
  measurement.add({0, 1, 60 * 10 * kMillisecond, 50, 9'600, std::nullopt});
  measurement.add({0, 1, 50 * 10 * kMillisecond + 1, 60, 9'600, std::nullopt});
  measurement.add({0, 1, 60 * 10 * kMillisecond, 60, 50 * 32, std::nullopt});
  EXPECT_EQ(measurement.steps(), 50);
  EXPECT_NEAR(measurement.estimate()->samples_per_s, 3200, 1e-6);
}

/// Reports batches of 1 ms, of which every tenth takes 2 ms.
void infer(Measurement& measurement, int64_t batches, bool may_train = false) {
  int64_t now = 1;
  for (int64_t step = 1; step <= batches; ++step) {
    const int64_t took_ns = (step % 10 == 0 ? 2 : 1) * kMillisecond;
    now += took_ns;
    StepReport report{0, 1, now, step, step * 100, std::nullopt};
    report.inference = true;
    report.may_train = may_train;
    report.batches_ns = {took_ns};
    measurement.add(report);
  }
}

TEST(Measurement, InferenceHasTheLatencyOfItsBatches) {
  Measurement measurement(plan());
  infer(measurement, 400);
  EXPECT_TRUE(measurement.infers());
  const auto latency = measurement.latency(10);
  ASSERT_TRUE(latency);
  EXPECT_EQ(latency->count, measurement.window(10)->steps);
  EXPECT_EQ(latency->p50_ns, 1 * kMillisecond);
  EXPECT_EQ(latency->p99_ns, 2 * kMillisecond);
  EXPECT_FALSE(measurement.latency(10'000));
  Measurement trains(plan());
  for (int64_t step = 1; step <= 100; ++step) {
    StepReport report{0, 1, step * kMillisecond, step, step * 100, std::nullopt};
    report.batches_ns = {kMillisecond};  // of an evaluation before it
    trains.add(report);
  }
  EXPECT_FALSE(trains.latency(10));
}

TEST(Measurement, AnEvaluationThatATrainingMayFollowIsNeverEnough) {
  Measurement::Plan shorter = plan();
  shorter.measure_for = std::chrono::milliseconds(100);
  shorter.rate_to_beat = 1e9;
  Measurement decided(shorter);
  infer(decided, 400);
  EXPECT_TRUE(decided.complete());
  Measurement undecided(shorter);
  infer(undecided, 400, true);
  EXPECT_FALSE(undecided.complete());
  EXPECT_FALSE(undecided.behind());
  EXPECT_TRUE(undecided.estimate()) << "the command may end with it";
  shorter.infers = true;
  Measurement known(shorter);
  infer(known, 400, true);
  EXPECT_TRUE(known.complete());
  EXPECT_TRUE(known.behind());
}

TEST(Measurement, ATrainingIsNotTakenForItsEvaluation) {
  Measurement::Plan trains = plan();
  trains.infers = false;
  Measurement measurement(trains);
  infer(measurement, 400);
  EXPECT_FALSE(measurement.estimate());
  EXPECT_GT(measurement.latest_ns(), 0) << "no hang";
}

TEST(Measurement, WhatRanBeforeTheTrainingIsNoPartOfIt) {
  Measurement measurement(plan());
  for (int64_t step = 1; step <= 50; ++step) {
    StepReport report{0, 1, step * kMillisecond, step, step * 100, std::nullopt};
    report.inference = true;
    measurement.add(report);
  }
  EXPECT_NEAR(measurement.estimate()->samples_per_s, 100'000, 1e-6);
  EXPECT_EQ(measurement.first_ns(), kMillisecond);
  train(measurement, 0, 1, 100, 32, ten_milliseconds, 50 * kMillisecond);
  EXPECT_EQ(measurement.first_ns(), 60 * kMillisecond);
  EXPECT_EQ(measurement.steps(), 100);
  EXPECT_NEAR(measurement.estimate()->samples_per_s, 3200, 1e-6);
}

}  // namespace
}  // namespace redline::tuner
