#include "viewer/models/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "tests/temporary_folder.h"
#include "tuner/study/database.h"
#include "viewer/models/testing_study.h"

namespace redline::viewer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TuningOf : public ::testing::Test {
 protected:
  std::string path(const char* name = "study.db") { return folder_ / name; }
  void write(const char* name, const std::string& text) { std::ofstream(path(name)) << text; }
  std::string refusal(const char* name) {
    const auto tuning = load_tuning(path(name));
    EXPECT_FALSE(tuning);
    return tuning ? "" : tuning.error();
  }

  testing::TemporaryFolder folder_;
};

std::vector<std::string> cells(const Table& table, size_t row) {
  std::vector<std::string> texts;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    texts.push_back(value_text(table.rows[row].values[c], table.columns[c].unit));
  }
  return texts;
}

TEST_F(TuningOf, ASearchSaysWhatWonAndHow) {
  TestStudy study(path());
  study.add_search();
  study.start({{"batch_size", "8"}});
  ASSERT_TRUE(is_study(path()));
  const auto tuning = load_tuning(path());
  ASSERT_TRUE(tuning) << tuning.error();
  EXPECT_EQ(tuning->rate, "5,000 samples/s");
  EXPECT_THAT(tuning->verdict, HasSubstr("5.00 × the default"));
  EXPECT_EQ(tuning->knobs, "amp bf16 · batch_size 128 · num_workers 4");
  EXPECT_EQ(tuning->command, "sh -c \"$(autotune apply " + path() + ")\"");
  EXPECT_EQ(tuning->figures, "4 trials · 1 out of memory · 48.0 s");
  EXPECT_EQ(tuning->best_trial, 4);
  EXPECT_EQ(tuning->default_trial, 1);

  ASSERT_EQ(tuning->batches.series.size(), 2U);
  const ChartSeries& fastest = tuning->batches.series[0];
  EXPECT_EQ(fastest.name, "amp bf16");
  EXPECT_EQ(fastest.points.size(), 3U);
  EXPECT_EQ(fastest.limit, 256) << "128 fits, 512 does not";
  ASSERT_EQ(tuning->convergence.series.size(), 1U);
  EXPECT_EQ(tuning->convergence.series[0].points.size(), 4U);
  EXPECT_TRUE(tuning->knob_shares.empty()) << "no knob changed alone between two that ran";
}

TEST_F(TuningOf, AKnobMattersByWhatItChangesAlone) {
  TestStudy study(path());
  study.add_search();
  study.trial({{"amp", "bf16"}, {"batch_size", "128"}}, 4000, "screen");
  const auto tuning = load_tuning(path());
  ASSERT_EQ(tuning->knob_shares.size(), 2U);
  EXPECT_EQ(tuning->knob_shares[0].knob, "batch_size");
  EXPECT_EQ(tuning->knob_shares[0].values, "128: 4,000 · 64: 3,000 · 512: does not run");
  EXPECT_DOUBLE_EQ(tuning->knob_shares[0].at_stake, 0.25);
  EXPECT_EQ(tuning->knob_shares[1].knob, "num_workers");
  EXPECT_EQ(tuning->knob_shares[1].values, "4: 5,000 · 0: 4,000");
}

TEST_F(TuningOf, ASearchForEnergyIsNotMeasuredInSamplesASecond) {
  TestStudy study(path(), "energy");
  study.trial({}, 1000, "default", 0.5);
  study.trial({{"batch_size", "64"}}, 800, "batch", 0.0625);
  const auto tuning = load_tuning(path());
  EXPECT_EQ(tuning->rate, "16.0 samples/J");
  EXPECT_EQ(tuning->best_trial, 2) << "the slower one takes less energy";
  EXPECT_EQ(tuning->notes, "0.0625 J a sample at 800 samples/s, with the defaults 0.500 J");
  EXPECT_EQ(tuning->batches.title, "Samples/J by batch size");
  EXPECT_EQ(tuning->trials.columns[5].title, "J a sample");
  EXPECT_EQ(cells(tuning->trials, 1)[5], "0.0625");
}

TEST_F(TuningOf, MoreSamplesAStepAreToldWithTheLearningRateThatStays) {
  TestStudy study(path());
  study.take_step_samples(64);
  study.trial({}, 1000, "default");
  EXPECT_EQ(load_tuning(path())->notes, "");
  study.take_step_samples(352);
  study.trial({{"batch_size", "352"}}, 2000, "batch");
  EXPECT_EQ(load_tuning(path())->notes,
            "352 samples a step, not 64; the learning rate stays the same");
}

TEST_F(TuningOf, APointHasItsIntervalAndSaysWhatDisturbedIt) {
  TestStudy study(path());
  study.trial({}, 1000, "default");
  study.trial({{"batch_size", "64"}}, 2000, "batch", {}, "other programs used 1.3 of 2 processors");
  const auto tuning = load_tuning(path());
  const auto& points = tuning->convergence.series[0].points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_DOUBLE_EQ(points[0].low, 990);
  EXPECT_DOUBLE_EQ(points[0].high, 1010);
  EXPECT_FALSE(points[0].is_hollow);
  EXPECT_THAT(points[0].hint, HasSubstr("1,000 samples/s (990 to 1,010)"));
  EXPECT_TRUE(points[1].is_hollow);
  EXPECT_THAT(points[1].hint, HasSubstr("disturbed: other programs used 1.3 of 2 processors"));
  EXPECT_THAT(tuning->convergence.x_title, HasSubstr("hollow: disturbed"));
  EXPECT_THAT(cells(tuning->trials, 1),
              ::testing::Contains("other programs used 1.3 of 2 processors"));
}

TEST_F(TuningOf, TheWinnersRateIsThatOfAllItsRuns) {
  TestStudy study(path());
  study.trial({}, 1000, "default");
  study.trial({{"batch_size", "64"}}, 5300, "batch");
  EXPECT_THAT(load_tuning(path())->spread, ::testing::Not(HasSubstr("mean of")));
  study.trial({{"batch_size", "64"}}, 5000, "confirm");
  const auto tuning = load_tuning(path());
  EXPECT_THAT(tuning->spread,
              HasSubstr("mean of its 2 runs; the fastest single run, trial 2, had 5,300"));
}

TEST_F(TuningOf, AMetricIsInNoUnitThatWeKnow) {
  TestStudy study(path(), "", "loss ([0-9.]+)");
  study.trial({}, 1000, "default");
  const auto tuning = load_tuning(path());
  EXPECT_EQ(tuning->rate, "1,000 by --metric");
  EXPECT_EQ(tuning->trials.columns[4].title, "By --metric");
}

TEST_F(TuningOf, StepsAreComparedWhereTheSearchCountedThem) {
  TestStudy study(path(), "steps");
  study.trial({}, 1000, "default");
  const auto tuning = load_tuning(path());
  EXPECT_EQ(tuning->rate, "1,000 steps/s");
  EXPECT_EQ(tuning->trials.columns[4].title, "Steps/s");
}

TEST_F(TuningOf, OneFigureHasNoInterval) {
  TestStudy study(path(), "", "loss ([0-9.]+)");
  study.trial({}, 1000, "default", {}, "", 0);
  EXPECT_EQ(load_tuning(path())->spread, "one run");
  EXPECT_EQ(load_tuning(path())->verdict, "the default itself");
  study.trial({{"batch_size", "64"}}, 2000, "batch", {}, "", 0);
  EXPECT_EQ(load_tuning(path())->spread, "one run");
  EXPECT_EQ(load_tuning(path())->verdict, "2.00 × the default, not confirmed: it ran once");
}

TEST_F(TuningOf, EveryTrialIsARow) {
  TestStudy study(path());
  study.add_search();
  const Table trials = load_tuning(path())->trials;
  ASSERT_EQ(trials.rows.size(), 4U);
  EXPECT_THAT(cells(trials, 3),
              ElementsAre("4", "128", "bf16", "4", "5,000", "3.0 GiB", "12.0 s", "frontier", "ok"))
      << "no trial has a trace or waited for data";
  EXPECT_THAT(cells(trials, 2), ElementsAre("3", "512", "bf16", "0", "-", "-", "12.0 s", "frontier",
                                            "out of memory (rank 1)"));
  EXPECT_EQ(trials.rows[2].name, "3");
  EXPECT_EQ(rows_with(trials, "OUT OF").rows.size(), 1U);
  EXPECT_EQ(rows_with(trials, "bf16").rows.size(), 3U);
  EXPECT_EQ(rows_with(trials, "").rows.size(), 4U);
  EXPECT_THAT(table_csv(trials), HasSubstr("samples_per_s,memory_bytes"));
}

TEST_F(TuningOf, ATrialKnowsItsTraces) {
  TestStudy study(path());
  study.add_search();
  study.add_trace(2, "{}");
  const auto tuning = load_tuning(path());
  ASSERT_NE(tuning->find(2), nullptr);
  ASSERT_EQ(tuning->find(2)->traces.size(), 1U);
  EXPECT_THAT(tuning->find(2)->traces[0], HasSubstr("study.trials/2/traces/rank0.pt.trace.json"));
  EXPECT_TRUE(tuning->find(1)->traces.empty());
  EXPECT_THAT(tuning->find(3)->text, HasSubstr("CUDA out of memory"));
  EXPECT_EQ(tuning->find(9), nullptr);
  EXPECT_EQ(cells(tuning->trials, 1)[8], "yes");
}

TEST_F(TuningOf, WithoutSuccessThereIsASentence) {
  TestStudy study(path());
  EXPECT_EQ(load_tuning(path())->verdict, "No trial has ended yet");
  study.trial({}, std::nullopt);
  const auto tuning = load_tuning(path());
  EXPECT_EQ(tuning->verdict, "No trial succeeded");
  EXPECT_EQ(tuning->rate, "");
  EXPECT_EQ(tuning->trials.rows.size(), 1U);
}

TEST_F(TuningOf, WhatIsNoStudyIsRefusedWithItsName) {
  {
    TestStudy study(path());
    study.add_search();
  }
  write("empty.db", "");
  EXPECT_TRUE(is_study(path("empty.db")));
  EXPECT_THAT(refusal("empty.db"), HasSubstr("empty.db: it is empty"));

  const std::string text = read_file(path());
  for (const size_t size : {size_t{7}, size_t{100}, size_t{5000}, text.size() / 2}) {
    write("torn.db", text.substr(0, size));
    EXPECT_TRUE(is_study(path("torn.db"))) << size;
    EXPECT_THAT(refusal("torn.db"), HasSubstr("torn.db: ")) << size;
  }

  ASSERT_TRUE(tuner::Database::open(path())->execute("PRAGMA user_version=7"));
  EXPECT_THAT(refusal("study.db"), HasSubstr("a study of version 7"));
  ASSERT_TRUE(tuner::Database::open(path("other.db"))->execute("CREATE TABLE slices (id)"));
  EXPECT_THAT(refusal("other.db"), HasSubstr("a database, but not a study"));

  write("trace.json", "[]");
  EXPECT_FALSE(is_study(path("trace.json")));
  EXPECT_FALSE(is_study(path("nothing.db")));
  EXPECT_FALSE(is_study(folder_.path()));
}

}  // namespace
}  // namespace redline::viewer
