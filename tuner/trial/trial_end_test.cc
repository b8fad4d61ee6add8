#include "tuner/trial/trial_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

namespace redline::tuner {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// A trial whose processes are gone. A test says what was seen of them.
class EndOfTrial : public ::testing::Test {
 protected:
  EndOfTrial() { spec_.timeout = seconds(5); }

  /// A step takes 10 ms and 8 samples.
  void steps(int64_t first, int64_t last, bool inference = false) {
    for (int64_t step = first; step <= last; ++step) {
      StepReport report;
      report.batches_ahead = batches_ahead_;
      report.time_ns = step * 10'000'000;
      report.steps = step;
      report.samples = step * 8;
      report.inference = inference;
      if (inference) report.batches_ns = {5'000'000};
      reports_.take(report);
    }
  }

  void print(const std::string& text) const { std::ofstream(paths_.output()) << text; }
  void print_error(const std::string& text) const { std::ofstream(paths_.errors()) << text; }

  [[nodiscard]] TrialResult result(TrialEnd end, std::optional<int> exit_status = {}) const {
    return result_of({.spec = spec_,
                      .paths = paths_,
                      .end = end,
                      .reports = reports_,
                      .resources = resources_,
                      .record_notes = notes_,
                      .wait_status = exit_status ? std::optional(*exit_status << 8) : std::nullopt,
                      .data_limit = data_limit_,
                      .silence = std::chrono::milliseconds(30'200),
                      .disturbance = "others worked, too",
                      .stacks = ""});
  }
  /// As what, and with which message, it counts. That no rank is to blame is expected.
  [[nodiscard]] std::string verdict(TrialEnd end, std::optional<int> exit_status = {}) const {
    const TrialResult found = result(end, exit_status);
    EXPECT_EQ(found.failed_rank, -1) << found.message;
    return std::string(to_string(found.outcome)) + ": " + found.message;
  }

  static launch::Environment without_gpus() {
    launch::Environment variables;
    variables.set("CUDA_VISIBLE_DEVICES", "");
    return variables;
  }

  const testing::TemporaryFolder place_;
  TrialSpec spec_;
  TrialPaths paths_{place_.path()};
  RankReports reports_{Measurement::Plan{}};
  int64_t batches_ahead_ = 0;
  TrialResources resources_{spec_, without_gpus()};
  std::optional<launch::RecordNotes> notes_;
  std::optional<uint64_t> data_limit_;
};

TEST_F(EndOfTrial, FourStepsAfterTheWarmUpAreAResultOfATrainingThatEnded) {
  EXPECT_EQ(verdict(TrialEnd::kExited, 0),
            "invalid: the command ended without an optimizer step that the hook could see. "
            "Programs that are not PyTorch in Python need --metric or, in C++, redline::Trial");
  steps(1, 6);
  EXPECT_EQ(verdict(TrialEnd::kExited, 0),
            "invalid: the command ended after 6 counted steps, too few to measure: let it train "
            "on");
  const TrialResult few = result(TrialEnd::kExited, 0);
  EXPECT_FALSE(few.throughput);
  EXPECT_EQ(few.steps, 6);
  EXPECT_EQ(few.disturbance, "");
  EXPECT_THAT(few.notes, IsEmpty());
  steps(7, 7);
  const TrialResult enough = result(TrialEnd::kExited, 0);
  EXPECT_EQ(enough.outcome, Outcome::kOk) << enough.message;
  ASSERT_TRUE(enough.throughput);
  EXPECT_NEAR(enough.throughput->samples_per_s, 800, 1e-6);
  EXPECT_EQ(enough.steps, 4);
  EXPECT_EQ(enough.disturbance, "others worked, too");
  EXPECT_FALSE(enough.infers || enough.latency);
}

TEST_F(EndOfTrial, AnInferenceHasALatencyEvenIfItIsShort) {
  steps(1, 7, true);
  const TrialResult found = result(TrialEnd::kExited, 0);
  EXPECT_TRUE(found.infers);
  ASSERT_TRUE(found.latency) << found.message;
  EXPECT_EQ(found.latency->count, 4);
  EXPECT_EQ(found.latency->p50_ns, 5'000'000);
}

TEST_F(EndOfTrial, WhatWasMeasuredCountsWhateverARankThenSays) {
  steps(1, 20);
  reports_.take(FailureReport{1, "exception", "KeyError", "'x'"});
  EXPECT_EQ(verdict(TrialEnd::kMeasured), "ok: ");
  EXPECT_EQ(verdict(TrialEnd::kBehind), "ok: stopped early: slower than the best");
  EXPECT_EQ(verdict(TrialEnd::kCancelled), "cancelled: cancelled");
  const TrialResult failed = result(TrialEnd::kFailureReported);
  EXPECT_EQ(failed.outcome, Outcome::kCrash);
  EXPECT_EQ(failed.message, "KeyError: 'x' (rank 1)");
  EXPECT_EQ(failed.failed_rank, 1);
  EXPECT_TRUE(failed.is_certain);
}

TEST_F(EndOfTrial, AWrongExitStatusIsACrashOnlyAfterAStep) {
  EXPECT_EQ(verdict(TrialEnd::kExited, 2), "invalid: exit status 2");
  steps(1, 1);
  EXPECT_EQ(verdict(TrialEnd::kExited, 2), "crash: exit status 2");
}

TEST_F(EndOfTrial, AStepOfAnotherSizeIsNotWhatWasAskedFor) {
  steps(1, 20);
  spec_.global_batch = 8;
  EXPECT_EQ(verdict(TrialEnd::kMeasured), "ok: ");
  spec_.global_batch = 9;
  EXPECT_EQ(verdict(TrialEnd::kMeasured),
            "invalid: a step took 8 samples over 1 rank, not the 9 of --global-batch");
}

TEST_F(EndOfTrial, ATimeoutTellsWhatDidNotCome) {
  spec_.start_timeout = seconds(7);
  EXPECT_EQ(verdict(TrialEnd::kTimeout),
            "hang: torch was not imported within 7.0 s. Give a longer --trial-timeout");
  const char* const no_step =
      "hang: no step within 5.0 s. If the command only needs so long to start, give a longer "
      "--trial-timeout";
  spec_.start_timeout = spec_.timeout;
  EXPECT_EQ(verdict(TrialEnd::kTimeout), no_step) << "it began with the start";
  spec_.start_timeout = seconds(7);
  reports_.take(BeginReport{0});
  EXPECT_EQ(verdict(TrialEnd::kTimeout), no_step);
  reports_.take(CompileReport{0, true, 0});
  EXPECT_EQ(verdict(TrialEnd::kTimeout), "hang: no result within 5.0 s and 10 min of compilation");
  reports_.take(CompileReport{0, false, 1});
  reports_.take(ActivityReport{0, 1, 0, 0});
  EXPECT_THAT(
      verdict(TrialEnd::kTimeout),
      AllOf(StartsWith("invalid: 1 forward pass with gradients, no backward passes and no "),
            EndsWith(" what the command prints. If a step takes longer than 5.0 s, give a "
                     "longer --trial-timeout")));
  spec_.step_marker = "step";
  EXPECT_THAT(verdict(TrialEnd::kTimeout), StartsWith("invalid: no two ranges or marks named"));
  steps(1, 3);
  EXPECT_EQ(verdict(TrialEnd::kTimeout),
            "hang: no result within 5.0 s; 3 steps counted, which is too few to measure");
  steps(4, 20);
  EXPECT_EQ(verdict(TrialEnd::kTimeout), "ok: ") << "it was measured";
}

TEST_F(EndOfTrial, AHangIsOneHoweverMuchWasMeasured) {
  steps(1, 20);
  EXPECT_EQ(verdict(TrialEnd::kHang),
            "hang: no step for 31 s. If the job pauses so long, give a longer --trial-timeout");
}

TEST_F(EndOfTrial, StepsOnFormerBatchesAreToldWhereNoneIsCounted) {
  reports_.take(BeginReport{0});
  steps(1, 1);
  EXPECT_EQ(verdict(TrialEnd::kExited, 0),
            "invalid: the command ended after 1 counted step, too few to measure: let it train on");
  reports_.take(ActivityReport{0, 900, 900, 899});
  for (const TrialEnd end : {TrialEnd::kExited, TrialEnd::kTimeout, TrialEnd::kHang}) {
    EXPECT_THAT(verdict(end, 0),
                StartsWith("invalid: 899 optimizer steps with batches that the script had taken "
                           "before, which are not counted. Give --step-marker NAME "));
  }
  reports_.take(ActivityReport{0, 901, 901, 0});
  EXPECT_THAT(verdict(TrialEnd::kHang), StartsWith("hang: no step for 31 s. "));
  reports_.take(ActivityReport{0, 950, 950, 20});
  spec_.metric_regex = "rate ([0-9]+)";
  EXPECT_EQ(verdict(TrialEnd::kTimeout),
            "hang: no result within 5.0 s: no line on stdout matches --metric");
}

TEST_F(EndOfTrial, ARateThatMayNotLastIsNoted) {
  batches_ahead_ = 16;
  steps(1, 17);
  EXPECT_THAT(result(TrialEnd::kExited, 0).notes,
              ElementsAre("measured on batches that were made ahead, so its loader may be slower "
                          "than that"));
  EXPECT_EQ(result(TrialEnd::kExited, 0).outcome, Outcome::kOk);
  EXPECT_THAT(result(TrialEnd::kCancelled).notes, IsEmpty());
  // 33 steps take what was made ahead and as much again.
  steps(18, 41);
  EXPECT_THAT(result(TrialEnd::kMeasured).notes, IsEmpty());
  spec_.metric_regex = "rate ([0-9]+)";
  print("rate 7\n");
  EXPECT_THAT(result(TrialEnd::kTimeout).notes, IsEmpty()) << "what it prints is its own affair";
}

TEST_F(EndOfTrial, ARateThatChangesByItselfIsNotedAndIsNoDisturbance) {
  steps(1, 33);
  for (int64_t step = 34; step <= 43; ++step) {
    StepReport report;
    report.time_ns = 330'000'000 + (step - 33) * 15'000'000;
    report.steps = step;
    report.samples = step * 8;
    reports_.take(report);
  }
  EXPECT_THAT(result(TrialEnd::kMeasured).notes,
              ElementsAre("its rate became 20 % slower during the measurement"));
  EXPECT_EQ(result(TrialEnd::kMeasured).disturbance, "others worked, too");
}

TEST_F(EndOfTrial, AMetricMustBeANumberOfWhichMoreIsBetter) {
  spec_.metric_regex = R"(rate (\S+))";
  const auto verdict_on = [this](const std::string& figure) {
    print("rate " + figure + "\n");
    return verdict(TrialEnd::kExited, 0);
  };
  spec_.global_batch = 64;  // nobody tells how many samples a step takes
  EXPECT_EQ(verdict_on("0.5"), "ok: ");
  EXPECT_EQ(verdict_on("nan"), "nan_loss: the metric is NaN");
  for (const char* wrong : {"inf", "-3", "0"}) {
    EXPECT_EQ(verdict_on(wrong), "invalid: the metric is " + std::string(wrong) +
                                     ": it must be a finite number above 0, and more must be "
                                     "better");
  }
  print("rate 7\n");
  EXPECT_EQ(verdict(TrialEnd::kTimeout), "ok: ");
  reports_.take(BeginReport{0});
  EXPECT_THAT(result(TrialEnd::kExited, 0).unused, IsEmpty()) << "the hook was there";
}

TEST_F(EndOfTrial, WithoutAMetricTheMessageOrANoteTellsWhy) {
  spec_.metric_regex = "rate ([0-9]+)";
  reports_.take(ActivityReport{0, 1, 0, 0});  // its own steps do not matter
  EXPECT_EQ(verdict(TrialEnd::kTimeout),
            "hang: no result within 5.0 s: no line on stdout matches --metric");
  EXPECT_THAT(result(TrialEnd::kTimeout).notes, ElementsAre("no line on stdout matches --metric"));
  EXPECT_EQ(verdict(TrialEnd::kExited, 0),
            "invalid: the command ended and no line on stdout matches --metric");
  EXPECT_EQ(verdict(TrialEnd::kExited, 3), "crash: exit status 3");
  EXPECT_THAT(result(TrialEnd::kExited, 3).notes, IsEmpty());
  EXPECT_THAT(result(TrialEnd::kExited, 3).unused, IsEmpty());
  print_error("\rrate 6\rrate 7");
  EXPECT_EQ(verdict(TrialEnd::kExited, 0),
            "invalid: the command ended and no line on stdout matches --metric, but one on stderr "
            "does. Let the command write to stdout, as sh -c 'COMMAND 2>&1' does");
  print("rate 7\n");
  EXPECT_THAT(verdict(TrialEnd::kHang), StartsWith("hang: no step for 31 s. "));
  EXPECT_THAT(result(TrialEnd::kHang).notes, IsEmpty());
}

TEST_F(EndOfTrial, ItsPeakIsThatOfTheDeviceOrElseOfTheHostUpToTheLimit) {
  EXPECT_FALSE(result(TrialEnd::kCancelled).peak_memory_bytes) << "nothing was seen of it";
  resources_.sample({getpid()}, false);
  EXPECT_GT(result(TrialEnd::kCancelled).peak_memory_bytes, 5U);
  data_limit_ = 5;
  EXPECT_EQ(result(TrialEnd::kCancelled).peak_memory_bytes, 5U);
  StepReport report;
  report.peak_memory_bytes = 1;
  reports_.take(report);
  EXPECT_EQ(result(TrialEnd::kCancelled).peak_memory_bytes, 1U);
}

TEST_F(EndOfTrial, AMemoryMetricThatFindsNothingIsNotedIfTheTrialCounts) {
  spec_.memory_metric_regex = "peak ([0-9]+)";
  steps(1, 20);
  EXPECT_THAT(result(TrialEnd::kMeasured).notes,
              ElementsAre("no line on stdout has what --memory-metric takes"));
  EXPECT_THAT(result(TrialEnd::kCancelled).notes, IsEmpty());
  print("peak 77\n");
  EXPECT_EQ(result(TrialEnd::kCancelled).peak_memory_bytes, 77U);
}

TEST_F(EndOfTrial, WhoTakesMoreThanTheLimitIsOutOfMemory) {
  spec_.memory_limit_bytes = uint64_t{2} << 30;
  spec_.memory_metric_regex = "peak ([0-9.]+ GiB)";
  steps(1, 20);
  print("peak 2.0 GiB\n");
  EXPECT_EQ(verdict(TrialEnd::kMeasured), "ok: ");
  print("peak 2.5 GiB\n");
  const TrialResult more = result(TrialEnd::kMeasured);
  EXPECT_EQ(more.outcome, Outcome::kGpuOom);
  EXPECT_EQ(more.message, "took 2.5 GiB, more than the 2.0 GiB of --memory-limit");
  EXPECT_FALSE(more.throughput);
  EXPECT_EQ(more.peak_memory_bytes, uint64_t{5} << 29);
  EXPECT_EQ(verdict(TrialEnd::kExited, 3), "crash: exit status 3");
  data_limit_ = uint64_t{3} << 30;
  EXPECT_EQ(verdict(TrialEnd::kMeasured), "ok: ") << "a recording has more room";
}

TEST_F(EndOfTrial, TheLast64KibibytesOfItsErrorsTellWhyItFailed) {
  const std::string cause = "MemoryError\n";
  const auto verdict_before = [&](size_t bytes) {
    print_error(cause + std::string(bytes - 1, 'x') + "\n");
    return result(TrialEnd::kExited, 1).outcome;
  };
  EXPECT_EQ(verdict_before(65'536 - cause.size()), Outcome::kHostOom);
  EXPECT_EQ(verdict_before(65'536), Outcome::kCrash);
}

TEST_F(EndOfTrial, ItIsToldWhatBecameOfTheRecording) {
  steps(1, 20);
  spec_.record_to = place_ / "traces";
  std::filesystem::create_directory(spec_.record_to);
  EXPECT_THAT(result(TrialEnd::kMeasured).notes, IsEmpty());
  notes_.emplace(spec_.record_to);
  EXPECT_THAT(result(TrialEnd::kMeasured).notes,
              ElementsAre(StartsWith("no trace in " + spec_.record_to + ": ")));
  std::ofstream(spec_.record_to + "/a.pt.trace.json.gz") << "{}";
  EXPECT_THAT(
      result(TrialEnd::kMeasured).notes,
      ElementsAre("1 trace in " + spec_.record_to, "next: redline report " + spec_.record_to));
}

}  // namespace
}  // namespace redline::tuner
