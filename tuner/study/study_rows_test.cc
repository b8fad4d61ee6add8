#include "tuner/study/study_rows.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "tests/temporary_folder.h"
#include "tuner/study/study.h"

namespace redline::tuner {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<double> numbers(const std::optional<Throughput>& rate) {
  if (!rate) return {};
  return {rate->samples_per_s, rate->low, rate->high};
}

/// A result in which no two figures are alike.
TrialResult whole_result() {
  TrialResult result;
  result.outcome = Outcome::kOk;
  result.throughput = Throughput{100.5, 99.25, 102.75};
  result.peak_memory_bytes = 11;
  result.fullest_gpu = "GPU 1, the fullest of 2";
  result.memory_capacity_bytes = 12;
  result.resting_memory_bytes = 13;
  result.data_wait_share = 0.125;
  result.tokens_per_sample = 14.5;
  result.infers = true;
  result.latency = Latency{.count = 15, .p50_ns = 16, .p90_ns = 17, .p99_ns = 18};
  result.epoch_samples = 19;
  result.joules_per_sample = 0.75;
  result.samples_per_joule = Throughput{2.5, 2.25, 2.75};
  result.host_use = HostUse{.memory_bytes = 20, .shm_bytes = 21};
  result.not_started = true;
  result.ranks = 22;
  result.readers = 11;
  result.observed = {{"batch_size", "64"}};
  result.failed_rank = 23;
  result.unused = {{"amp", "it has its own"}};
  result.limits = {{"num_workers", {.most = 24, .why = "few files"}}};
  result.compile_time = std::chrono::nanoseconds(25);
  result.step_samples = 26;
  result.is_certain = true;
  result.steps = 27;
  result.wall = std::chrono::nanoseconds(28);
  result.start_up = std::chrono::nanoseconds(29);
  result.expected = Expectation{.score = {30, 31, 32}, .peak_memory_bytes = 33};
  result.neighbours = 34;
  result.message = "a \"message\"";
  result.disturbance = "others";
  result.stderr_tail = "last words\xff";
  result.notes = {"one", "two"};
  return result;
}

class StudyRows : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name = "a.db") const { return folder_ / name; }
  /// Makes a study whose trials end with these results.
  void make(const std::string& path, const std::vector<TrialResult>& results) const {
    auto study = Study::open(path, identity_, true);
    ASSERT_TRUE(study) << study.error();
    for (const TrialResult& result : results) {
      ASSERT_TRUE(study->finish(*study->start({{{"batch_size", "64"}}, "a reason"}), result));
    }
  }
  [[nodiscard]] TrialResult kept(const TrialResult& result) const {
    make(path(), {result});
    return read_study(path())->trials.at(0).result;
  }

  const testing::TemporaryFolder folder_;
  const Space space_ = *make_space({"batch_size=1..64"}, {"train"}, {});
  StudyIdentity identity_{.command = {"train", "--token=a b"},
                          .space = space_.signature(),
                          .memory_limit_bytes = 5,
                          .metric_regex = "rate ([0-9]+)",
                          .memory_metric_regex = "peak ([0-9]+)",
                          .objective = "energy",
                          .share = "GPU 0",
                          .machine = Machine{.gpu = true, .gpus = 2, .cores = 3, .gpu_model = "A"},
                          .environment = {{"FLAGS", "--x {x} --token=a"}}};
};

TEST_F(StudyRows, KeepAllThatATrialTold) {
  const TrialResult told = whole_result();
  const TrialResult result = kept(told);
  EXPECT_EQ(result.outcome, Outcome::kOk);
  EXPECT_THAT(numbers(result.throughput), ElementsAre(100.5, 99.25, 102.75));
  EXPECT_EQ(result.peak_memory_bytes, 11);
  EXPECT_EQ(result.fullest_gpu, told.fullest_gpu);
  EXPECT_EQ(result.memory_capacity_bytes, 12);
  EXPECT_EQ(result.resting_memory_bytes, 13);
  EXPECT_EQ(result.data_wait_share, 0.125);
  EXPECT_EQ(result.tokens_per_sample, 14.5);
  EXPECT_TRUE(result.infers);
  ASSERT_TRUE(result.latency);
  EXPECT_EQ(result.latency->count, 15);
  EXPECT_EQ(result.latency->p50_ns, 16);
  EXPECT_EQ(result.latency->p90_ns, 17);
  EXPECT_EQ(result.latency->p99_ns, 18);
  EXPECT_EQ(result.epoch_samples, 19);
  EXPECT_EQ(result.joules_per_sample, 0.75);
  EXPECT_THAT(numbers(result.samples_per_joule), ElementsAre(2.5, 2.25, 2.75));
  ASSERT_TRUE(result.host_use);
  EXPECT_EQ(result.host_use->memory_bytes, 20U);
  EXPECT_EQ(result.host_use->shm_bytes, 21U);
  EXPECT_TRUE(result.not_started);
  EXPECT_EQ(result.ranks, 22);
  EXPECT_EQ(result.readers, 11);
  EXPECT_EQ(result.observed, told.observed);
  EXPECT_EQ(result.failed_rank, 23);
  EXPECT_EQ(result.unused, told.unused);
  ASSERT_EQ(result.limits.size(), 1U);
  EXPECT_EQ(result.limits.at("num_workers").most, 24);
  EXPECT_EQ(result.limits.at("num_workers").why, "few files");
  EXPECT_EQ(result.compile_time.count(), 25);
  EXPECT_EQ(result.step_samples, 26);
  EXPECT_TRUE(result.is_certain);
  EXPECT_EQ(result.steps, 27);
  EXPECT_EQ(result.wall.count(), 28);
  EXPECT_EQ(result.start_up.count(), 29);
  ASSERT_TRUE(result.expected);
  EXPECT_THAT(numbers(result.expected->score), ElementsAre(30, 31, 32));
  EXPECT_EQ(result.expected->peak_memory_bytes, 33);
  EXPECT_EQ(result.neighbours, 34);
  EXPECT_EQ(result.message, told.message);
  EXPECT_EQ(result.disturbance, "others");
  EXPECT_EQ(result.stderr_tail, "last words\xef\xbf\xbd") << "with a sign for what is no text";
  EXPECT_EQ(result.notes, told.notes);
}

TEST_F(StudyRows, WhatATrialDidNotTellStaysUnknown) {
  TrialResult told;
  told.outcome = Outcome::kGpuOom;
  const TrialResult result = kept(told);
  EXPECT_EQ(result.outcome, Outcome::kGpuOom);
  EXPECT_FALSE(result.throughput || result.samples_per_joule || result.joules_per_sample);
  EXPECT_FALSE(result.peak_memory_bytes || result.memory_capacity_bytes ||
               result.resting_memory_bytes || result.host_use);
  EXPECT_FALSE(result.data_wait_share || result.tokens_per_sample || result.epoch_samples);
  EXPECT_FALSE(result.latency || result.expected || result.infers || result.not_started);
  EXPECT_EQ(result.failed_rank, -1);
  EXPECT_EQ(result.ranks, 0);
  EXPECT_TRUE(result.limits.empty() && result.unused.empty() && result.observed.empty());
}

TEST_F(StudyRows, AStudyOfAnOlderProgramHasTheDefaultsOfWhatItLacks) {
  make(path(), {whole_result()});
  ASSERT_TRUE(Database::open(path())->execute(
      R"(UPDATE trials SET result='{"host_use":{},"limits":{"num_workers":{}}}')"));
  const TrialResult result = read_study(path())->trials.at(0).result;
  EXPECT_THAT(numbers(result.throughput), ElementsAre(100.5, 99.25, 102.75));
  EXPECT_FALSE(result.infers || result.not_started || result.is_certain || result.latency);
  EXPECT_EQ(result.failed_rank, -1);
  EXPECT_EQ(result.ranks, 0);
  EXPECT_EQ(result.neighbours, 0);
  EXPECT_EQ(result.step_samples, 0);
  EXPECT_EQ(result.compile_time.count(), 0);
  EXPECT_EQ(result.start_up.count(), 0);
  EXPECT_EQ(result.limits.at("num_workers").most, 0);
  EXPECT_EQ(result.host_use->memory_bytes, 0U);
  EXPECT_EQ(result.host_use->shm_bytes, 0U);
}

TEST_F(StudyRows, AnUnreadableTrialIsNamed) {
  for (const char* damage :
       {"config='[]'", "config='{\"batch_size\": 8}'", "result='['", "result='{\"ranks\":\"two\"}'",
        "result='{\"latency\":{}}'", "result='{\"expected\":{\"score\":null}}'",
        "result='{\"limits\":{\"x\":1}}'", "outcome='new'"}) {
    std::filesystem::remove(path());
    make(path(), {whole_result()});
    ASSERT_TRUE(Database::open(path())->execute(std::string("UPDATE trials SET ") + damage));
    EXPECT_THAT(read_study(path()).error(),
                HasSubstr("trial 1 cannot be read: the file is damaged"));
    auto study = Study::open(path(), identity_, true);
    const auto claim = study->claim(
        0, [](const FinishedTrial&) {}, [](const auto&) { return std::nullopt; });
    ASSERT_FALSE(claim) << damage;
    EXPECT_EQ(claim.error(), path() + ": trial 1 cannot be read: the file is damaged");
  }
}

TEST_F(StudyRows, ARunningTrialWhoseValuesCannotBeReadIsLeftOut) {
  auto study = Study::open(path(), identity_, true);
  ASSERT_TRUE(study->start({{{"batch_size", "1"}}, "one"}));
  ASSERT_TRUE(study->start({{{"batch_size", "2"}}, "two"}));
  ASSERT_TRUE(Database::open(path())->execute("UPDATE trials SET config='{\"x\":1}' WHERE id=1"));
  std::vector<Proposal> seen;
  const auto claim = study->claim(
      0, [](const FinishedTrial&) {},
      [&seen](const std::vector<Proposal>& running) {
        seen = running;
        return std::nullopt;
      });
  ASSERT_TRUE(claim) << claim.error();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].why, "two");
  EXPECT_EQ(claim->running.at(0).id, 2);
}

TEST_F(StudyRows, TheIdentityIsReadAsItWasWritten) {
  make(path(), {});
  const StudyIdentity read = *Study::open_to_read(path())->identity();
  EXPECT_EQ(read.command, identity_.command);
  EXPECT_EQ(read.space, identity_.space);
  EXPECT_EQ(read.memory_limit_bytes, 5);
  EXPECT_EQ(read.metric_regex, identity_.metric_regex);
  EXPECT_EQ(read.memory_metric_regex, identity_.memory_metric_regex);
  EXPECT_EQ(read.objective, "energy");
  EXPECT_EQ(read.share, "GPU 0");
  EXPECT_EQ(read.environment, identity_.environment);
  ASSERT_TRUE(read.machine);
  EXPECT_TRUE(read.machine->gpu);
  EXPECT_EQ(read.machine->text(), "2 GPUs (A) and 3 cores");
  EXPECT_EQ(read.searched_for(), Objective::kMetric) << "energy or not";
  identity_.metric_regex = "";
  EXPECT_EQ(identity_.searched_for(), Objective::kSamplesPerJoule);
  identity_.objective = "";
  EXPECT_EQ(identity_.searched_for(), Objective::kSamplesPerSecond);
}

TEST_F(StudyRows, AnIdentityWithoutItsValuesIsReadAsFarAsItGoes) {
  make(path(), {whole_result()});
  ASSERT_TRUE(Database::open(path())->execute("DELETE FROM study WHERE key='memory_limit_bytes'"));
  const Result<StudyContent> content = read_study(path());
  ASSERT_TRUE(content) << content.error();
  EXPECT_FALSE(content->identity.memory_limit_bytes);
  EXPECT_EQ(content->identity.command, identity_.command);
  ASSERT_TRUE(Database::open(path())->execute("UPDATE study SET value='[' WHERE key='command'"));
  EXPECT_EQ(read_study(path()).error(), path() + ": its command cannot be read");
  EXPECT_THAT(Study::open(path(), identity_, true).error(),
              HasSubstr("its trials had another command (none)"));
}

TEST_F(StudyRows, AStudyIsAnOrdinaryFileAndReadingItClosesNoOther) {
  make(path(), {});
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path()).permissions() & perms::owner_all,
            perms::owner_read | perms::owner_write);
  const FileDescriptor input("/dev/null");
  ASSERT_EQ(dup2(input.get(), STDIN_FILENO), STDIN_FILENO);
  ASSERT_TRUE(read_study(path()));
  EXPECT_NE(fcntl(STDIN_FILENO, F_GETFD), -1) << "of the standard input";
}

TEST_F(StudyRows, AnotherIdentityIsNamedWithWhatItWas) {
  make(path(), {whole_result()});
  const auto error = [&](const StudyIdentity& other) {
    const auto study = Study::open(path(), other, true);
    return study ? "none" : study.error();
  };
  EXPECT_EQ(error(identity_), "none");
  const auto error_with = [&](auto member, const auto& value) {
    StudyIdentity other = identity_;
    other.*member = value;
    return error(other);
  };
  EXPECT_EQ(error_with(&StudyIdentity::command, std::vector<std::string>{"train"}),
            path() + ": its trials had another command (train '--token=***'), so " +
                "they say nothing about this one. Give the same again, or --study " +
                "another file");
  EXPECT_THAT(error_with(&StudyIdentity::memory_limit_bytes, std::nullopt),
              HasSubstr("another --memory-limit (5)"));
  EXPECT_THAT(error_with(&StudyIdentity::metric_regex, ""),
              HasSubstr("another --metric (rate ([0-9]+))"));
  EXPECT_THAT(error_with(&StudyIdentity::memory_metric_regex, ""),
              HasSubstr("another --memory-metric (peak ([0-9]+))"));
  EXPECT_THAT(error_with(&StudyIdentity::share, ""), HasSubstr("another --parallel (GPU 0)"));
  EXPECT_THAT(error_with(&StudyIdentity::objective, ""), HasSubstr("another --objective (energy)"));
  EXPECT_THAT(error_with(&StudyIdentity::space, "{}"), HasSubstr("another search space"));
  EXPECT_THAT(error_with(&StudyIdentity::environment, Config()),
              HasSubstr(R"(another environment ({"FLAGS":"--x {x} --token=***)"));
}

TEST_F(StudyRows, TrialsOfAnotherMachineAreNotGoneOnWith) {
  make(path(), {whole_result()});
  const auto error = [&](const std::optional<Machine>& machine) {
    StudyIdentity other = identity_;
    other.machine = machine;
    const auto study = Study::open(path(), other, true);
    return study ? "none" : study.error();
  };
  EXPECT_EQ(error(Machine{.cores = 1}),
            path() + ": its trials ran on 2 GPUs (A) and 3 cores, and this search has 1 core, so " +
                "they cannot be compared. Give --study another file");
  EXPECT_EQ(error(std::nullopt), "none") << "Slurm's trials run elsewhere";
  StudyIdentity elsewhere = identity_;
  elsewhere.machine = Machine{.cores = 1};
  EXPECT_EQ(Study::own_path(path(), elsewhere, false), path("a-2.db"));
  ASSERT_TRUE(Database::open(path())->execute("DELETE FROM study WHERE key='machine'"));
  EXPECT_EQ(error(Machine{.cores = 1}), "none") << "an older program did not keep it";
  EXPECT_FALSE(read_study(path())->identity.machine);
}

TEST_F(StudyRows, TrialsAreKeptInTheOrderInWhichTheyEnded) {
  auto study = Study::open(path(), identity_, true);
  const int64_t first = *study->start({{{"batch_size", "1"}}, "one"});
  const int64_t second = *study->start({{{"batch_size", "2"}}, "two"});
  const int64_t third = *study->start({{{"batch_size", "3"}}, "three"});
  ASSERT_TRUE(study->finish(second, whole_result()));
  ASSERT_TRUE(study->finish(first, whole_result()));
  ASSERT_TRUE(study->interrupt(third));
  EXPECT_EQ(*study->interrupted_count(), 1);
  const auto trials = *study->finished();
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(trials[0].id, second);
  EXPECT_EQ(trials[0].why, "two");
  EXPECT_THAT(trials[0].config, ElementsAre(Pair("batch_size", "2")));
  EXPECT_EQ(trials[1].id, first);
  EXPECT_EQ(study->finished(1)->at(0).id, first) << "without the one that is known";
  EXPECT_EQ(*study->why_ended(), "");
  ASSERT_TRUE(study->keep_why_ended("All is said."));
  const StudyContent content = *read_study(path());
  EXPECT_EQ(content.why_ended, "All is said.");
  EXPECT_EQ(content.interrupted, 1);
  EXPECT_EQ(content.trials_directory, folder_ / "a.trials");
  EXPECT_EQ(content.history().objective(), Objective::kMetric);
  EXPECT_EQ(study->trial_directory(7), folder_ / "a.trials/7");
}

TEST_F(StudyRows, ASearchWithoutAFileTakesTheFirstThatIsItsOwn) {
  TrialResult failed;
  EXPECT_EQ(Study::own_path(path(), identity_, false), path()) << "it does not exist";
  make(path(), {failed});
  EXPECT_EQ(Study::own_path(path(), identity_, true), path()) << "nothing in it is worth keeping";
  std::filesystem::remove(path());
  make(path(), {failed, whole_result()});
  EXPECT_EQ(Study::own_path(path(), identity_, false), path());
  EXPECT_EQ(Study::own_path(path(), identity_, true), path("a-2.db"));
  StudyIdentity other = identity_;
  other.command = {"infer"};
  EXPECT_EQ(Study::own_path(path(), other, false), path("a-2.db"));
  make(path("a-2.db"), {whole_result()});
  EXPECT_EQ(Study::own_path(path(), other, false), path("a-3.db"));
}

TEST_F(StudyRows, KnobsInAnotherOrderAreTheSameSpace) {
  const auto with_knobs = [&](const std::vector<std::string>& knobs) {
    StudyIdentity identity = identity_;
    identity.space = make_space(knobs, {"train", "{x}{y}"}, {})->signature();
    return identity;
  };
  ASSERT_TRUE(Study::open(path(), with_knobs({"x=1,2", "y=3..4"}), true));
  const auto again = Study::open(path(), with_knobs({"y=3..4", "x=1,2"}), true);
  EXPECT_TRUE(again) << again.error();
}

TEST_F(StudyRows, AFileThatAnotherCommandUsesIsNotTaken) {
  StudyIdentity other = identity_;
  other.command = {"infer"};
  {
    const auto in_use = Study::open(path(), identity_, false);
    ASSERT_TRUE(in_use) << in_use.error();
    EXPECT_EQ(Study::own_path(path(), other, false), path("a-2.db"));
    EXPECT_EQ(Study::own_path(path(), identity_, false), path()) << "--resume shares the search";
  }
  EXPECT_EQ(Study::own_path(path(), other, false), path()) << "nothing in it is worth keeping";
}

TEST_F(StudyRows, WhetherASearchWouldGoOnIsKnownBefore) {
  StudyIdentity other = identity_;
  other.command = {"infer"};
  const auto answer = [&](const StudyIdentity& identity, bool resume) -> std::string {
    const auto goes_on = Study::open_to_read(path())->goes_on(identity, resume);
    return !goes_on ? goes_on.error() : *goes_on ? "yes" : "no";
  };
  make(path(), {TrialResult()});
  EXPECT_EQ(answer(identity_, true), "yes");
  EXPECT_EQ(answer(other, false), "no") << "failures alone are dropped";
  EXPECT_THAT(answer(other, true), HasSubstr("its trials had another command"));
  std::filesystem::remove(path());
  make(path(), {whole_result()});
  EXPECT_EQ(answer(identity_, true), "yes");
  EXPECT_THAT(answer(identity_, false), HasSubstr("has 1 trial already. --resume goes on"));
}

TEST_F(StudyRows, FailuresAloneAreDroppedUnlessTheSearchIsResumed) {
  const TrialResult failed;
  make(path(), {failed});
  EXPECT_EQ(Study::open(path(), identity_, false)->dropped_failures(), 1);
  make(path(), {failed, failed});
  EXPECT_EQ(Study::open(path(), identity_, true)->dropped_failures(), 0);
  {
    const auto anew = Study::open(path(), identity_, false);
    EXPECT_EQ(anew->dropped_failures(), 2);
    EXPECT_TRUE(anew->finished()->empty());
    EXPECT_FALSE(anew->joined());
  }
  make(path(), {whole_result()});
  {
    auto stopped = Study::open(path(), identity_, true);
    ASSERT_TRUE(stopped->interrupt(*stopped->start({{{"batch_size", "1"}}, "it has no result"})));
  }
  EXPECT_EQ(
      Study::open(path(), identity_, false).error(),
      path() + ": has 1 trial already. --resume goes on with them; --study takes another file");
}

TEST_F(StudyRows, WhatIsNoStudyIsSaid) {
  EXPECT_THAT(read_study(path()).error(), HasSubstr("No such file or directory"));
  ASSERT_TRUE(Database::open(path())->execute("CREATE TABLE t (x)"));
  EXPECT_THAT(read_study(path()).error(), HasSubstr("a database, but not a study"));
  EXPECT_THAT(Study::open(path(), identity_, true).error(),
              HasSubstr("a database, but not a study. Give --study another file"));
  const std::string folder = std::filesystem::path(path()).parent_path();
  EXPECT_EQ(read_study(folder).error(), folder + ": a folder, not a study");
  std::ofstream(path("trace.json")) << "[]";
  EXPECT_EQ(read_study(path("trace.json")).error(),
            path("trace.json") + ": not a study. autotune writes one: autotune.study.db");
  (void)Database::open(path("empty.db"))->execute("VACUUM");
  EXPECT_THAT(read_study(path("empty.db")).error(), HasSubstr("it is empty, not a study"));
  make(path("damaged.db"), {});
  std::string bytes = read_file(path("damaged.db"));
  ASSERT_GT(bytes.size(), 4096U);
  std::fill(bytes.begin() + 4096, bytes.end(), 'x');  // all but the first page
  ASSERT_TRUE(write_file(path("damaged.db"), bytes));
  EXPECT_THAT(read_study(path("damaged.db")).error(),
              ContainsRegex("damaged.db: the file is damaged: ."));
}

}  // namespace
}  // namespace redline::tuner
