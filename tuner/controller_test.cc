// The study with its controller: every trial kept, none twice, whatever ends the process.
#include "tuner/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tuner/best_config.h"

namespace redline::tuner {
namespace {

using testing::HasSubstr;

class Silent final : public Observer {
  void trial_started(int64_t, const Proposal&) override {}
  void trial_progress(const TrialProgress&) override {}
  void trial_finished(const History&) override {}
};

/// The rate rises with x up to 64; above it does not fit.
TrialResult answer(const TrialSpec& spec) {
  const double x = std::stod(spec.config.at("x"));
  TrialResult result;
  result.wall = std::chrono::seconds(1);
  result.outcome = x > 64 ? Outcome::kGpuOom : Outcome::kOk;
  if (x <= 64) result.throughput = Throughput{100 + x, 99 + x, 101 + x};
  result.peak_memory_bytes = static_cast<uint64_t>(x) << 20;
  result.message = "a \"message\"\n\xff";
  result.notes = {"note"};
  result.ranks = 2;
  return result;
}

class StudyRuns : public testing::Test {
 protected:
  StudyRuns() {
    folder_ = testing::TempDir() + "study_test." + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~StudyRuns() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ + "/a.study.db"; }
  [[nodiscard]] StudyIdentity identity() const {
    return {.command = {"train", "{x}"},
            .space = space_.signature(),
            .memory_limit_bytes = {},
            .metric_regex = "",
            .memory_metric_regex = ""};
  }

  /// Opens, resumes and runs to the end or until `stop`.
  Result<StudyEnd> run(const TrialRunner& runner, std::vector<FinishedTrial>* trials = nullptr) {
    Result<Study> study = Study::open(path(), identity(), true);
    if (!study) return tl::unexpected(study.error());
    History history(space_);
    auto finished = study->finished();
    if (!finished) return tl::unexpected(finished.error());
    for (FinishedTrial& trial : *finished) history.add(std::move(trial));
    const auto strategy = make_strategy("staged", space_, {});
    const Plan plan(space_, *strategy, {.time = std::chrono::hours(1), .max_trials = 15});
    Silent silent;
    const auto end = run_study(plan, *study, history, {}, runner, stop_, silent);
    if (trials) *trials = history.trials();
    return end;
  }

  Space space_ = *make_space({"x=1..4096"}, {"train", "{x}"}, {});
  std::string folder_;
  std::atomic<StopRequest> stop_{StopRequest::kNone};
};

TrialRunner counting(int& runs) {
  return [&runs](const TrialSpec& spec, const auto&, const auto&) {
    ++runs;
    return answer(spec);
  };
}

TEST_F(StudyRuns, ASecondRunRepeatsNothingAndKnowsEverything) {
  int runs = 0;
  std::vector<FinishedTrial> before, after;
  ASSERT_EQ(*run(counting(runs), &before), StudyEnd::kFinished);
  EXPECT_EQ(runs, before.size());
  ASSERT_EQ(*run(counting(runs), &after), StudyEnd::kFinished);
  EXPECT_EQ(runs, before.size()) << "nothing was run again";
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].config, before[i].config);
    EXPECT_EQ(after[i].why, before[i].why);
    EXPECT_EQ(after[i].ok(), before[i].ok());
    EXPECT_EQ(after[i].result.peak_memory_bytes, before[i].result.peak_memory_bytes);
    EXPECT_EQ(after[i].result.wall, before[i].result.wall);
    EXPECT_EQ(after[i].result.ranks, 2);
    EXPECT_EQ(after[i].result.notes, before[i].result.notes);
    if (!before[i].ok()) continue;
    EXPECT_EQ(after[i].result.throughput->high, before[i].result.throughput->high);
  }
}

TEST_F(StudyRuns, KilledAnywhereItTakesTheSamePath) {
  std::vector<FinishedTrial> whole;
  int runs = 0;
  ASSERT_TRUE(run(counting(runs), &whole));
  std::filesystem::remove(path());

  // A child that SIGKILLs itself in its nth trial, after n - 1 finished ones; again and again.
  for (size_t kills = 0; kills < 2 * whole.size(); ++kills) {
    const pid_t child = fork();
    if (child == 0) {
      int left = 2;
      const auto end = run([&left](const TrialSpec& spec, const auto&, const auto&) {
        if (--left == 0) raise(SIGKILL);
        return answer(spec);
      });
      _exit(end && *end == StudyEnd::kFinished ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      break;
    }
    ASSERT_EQ(WTERMSIG(status), SIGKILL);
  }
  std::vector<FinishedTrial> resumed;
  runs = 0;
  ASSERT_TRUE(run(counting(runs), &resumed));
  EXPECT_EQ(runs, 0) << "the children had finished it";
  ASSERT_EQ(resumed.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(resumed[i].config, whole[i].config);
  EXPECT_EQ(*Study::open(path(), identity(), true)->interrupted_count(),
            static_cast<int64_t>(whole.size()) - 1);
}

TEST_F(StudyRuns, CancelledTrialsAreAskedAgain) {
  const auto cancel = [this](const TrialSpec&, const auto&, const auto&) {
    stop_ = StopRequest::kEnd;
    TrialResult result;
    result.outcome = Outcome::kCancelled;
    return result;
  };
  EXPECT_EQ(*run(cancel), StudyEnd::kStopped);
  stop_ = StopRequest::kNone;
  int runs = 0;
  std::vector<FinishedTrial> trials;
  EXPECT_EQ(*run(counting(runs), &trials), StudyEnd::kFinished);
  EXPECT_EQ(trials.front().why, "default");
}

TEST_F(StudyRuns, ACrashIsTriedOnceMore) {
  std::vector<FinishedTrial> trials;
  const auto crash = [](const TrialSpec&, const auto&, const auto&) { return TrialResult{}; };
  EXPECT_EQ(*run(crash, &trials), StudyEnd::kFinished);
  EXPECT_EQ(trials.size(), 2) << "the defaults crash twice: the command is wrong";
}

TEST_F(StudyRuns, OneProcessAtATime) {
  const Result<Study> first = Study::open(path(), identity(), true);
  ASSERT_TRUE(first);
  const pid_t child = fork();
  if (child == 0) {
    const Result<Study> second = Study::open(path(), identity(), true);
    _exit(!second && second.error().find("another autotune is using it") != std::string::npos ? 0
                                                                                              : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(StudyRuns, RefusesWhatItCannotGoOnWith) {
  int runs = 0;
  ASSERT_TRUE(run(counting(runs)));
  EXPECT_THAT(Study::open(path(), identity(), false).error(),
              HasSubstr("trials already. --resume goes on with them"));
  StudyIdentity other = identity();
  other.command = {"something", "else"};
  EXPECT_THAT(Study::open(path(), other, true).error(), HasSubstr("had another command"));
  other = identity();
  other.memory_limit_bytes = 5;
  EXPECT_THAT(Study::open(path(), other, true).error(), HasSubstr("had another --memory-limit"));

  const std::string text = folder_ + "/text";
  std::ofstream(text) << "this is no database, only words that are long enough to be a page\n";
  EXPECT_THAT(Study::open(text, identity(), true).error(), HasSubstr("not a database"));
  EXPECT_THAT(Study::open(folder_ + "/none/x.db", identity(), true).error(),
              HasSubstr("No such file or directory. Give --study"));
  const Result<Database> newer = Database::open(path());
  ASSERT_TRUE(newer->execute("PRAGMA user_version=2"));
  EXPECT_THAT(Study::open(path(), identity(), true).error(),
              HasSubstr("a study of version 2, this autotune reads version 1"));
}

TEST_F(StudyRuns, BestConfigIsReplacedInOneStep) {
  const std::string file = folder_ + "/best.json";
  ASSERT_TRUE(write_atomically(file, "one"));
  ASSERT_TRUE(write_atomically(file, "two"));
  std::string text;
  std::ifstream(file) >> text;
  EXPECT_EQ(text, "two");
  EXPECT_FALSE(std::filesystem::exists(file + ".partial"));
  EXPECT_THAT(write_atomically(folder_ + "/none/b.json", "x").error(),
              HasSubstr("No such file or directory. Give -o"));
}

}  // namespace
}  // namespace redline::tuner
