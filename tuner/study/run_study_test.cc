// Tests the study with its controller: every trial is kept and none runs twice, whatever ends the
// process.
#include "tuner/study/run_study.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <latch>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/temporary_folder.h"
#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// What people would see of a search.
class Told final : public Observer {
 public:
  std::vector<int64_t> started, progressed, finished;

 private:
  void trial_started(int64_t id, const Proposal&) override { started.push_back(id); }
  void trial_progress(int64_t id, const TrialProgress&) override { progressed.push_back(id); }
  void trial_finished(const History& history) override {
    finished.push_back(history.trials().back().id);
  }
};

/// The rate rises with x up to 64; larger values do not fit into memory.
TrialResult answer(const TrialSpec& spec) {
  const double x = std::stod(spec.config.at("x"));
  TrialResult result;
  result.wall = std::chrono::seconds(1);
  result.outcome = x > 64 ? Outcome::kGpuOom : Outcome::kOk;
  if (x <= 64) result.throughput = Throughput{100 + x, 99 + x, 101 + x};
  result.peak_memory_bytes = static_cast<uint64_t>(x) << 20;
  result.resting_memory_bytes = static_cast<uint64_t>(x) << 10;
  result.fullest_gpu = "GPU 1, the fullest of 2";
  result.message = "a \"message\"\n\xff";
  result.notes = {"note"};
  result.ranks = result.readers = 2;
  return result;
}

class StudyRuns : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_ + "/a.study.db"; }
  [[nodiscard]] StudyIdentity identity() const {
    return {.command = {"train", "{x}"},
            .space = space_.signature(),
            .memory_limit_bytes = {},
            .metric_regex = "",
            .memory_metric_regex = ""};
  }

  /// Opens or resumes the study and runs it to its end or until `stop`.
  Result<StudyEnd> run(const TrialRunner& runner, std::vector<FinishedTrial>* trials = nullptr,
                       const std::string& strategy_name = "model", size_t side_by_side = 1) {
    Result<Study> study = Study::open(path(), identity(), true);
    if (!study) return tl::unexpected(study.error());
    History history(space_, objective_);
    auto finished = study->finished();
    if (!finished) return tl::unexpected(finished.error());
    for (FinishedTrial& trial : *finished) history.add(std::move(trial));
    const auto strategy = make_strategy(strategy_name, space_, {});
    const Plan plan(space_, *strategy, {.time = std::chrono::hours(1), .max_trials = 15});
    std::vector<Share> shares(side_by_side);
    for (size_t i = 0; i < shares.size(); ++i) shares[i].gpus = {std::to_string(i)};
    Told told;
    const auto end = run_study({.plan = plan,
                                .study = *study,
                                .history = history,
                                .space = space_,
                                .prototype = prototype_,
                                .run_trial = runner,
                                .stop = stop_,
                                .observer = told,
                                .shares = shares});
    if (trials) *trials = history.trials();
    return end;
  }

  Space space_ = *make_space({"x=1..4096"}, {"train", "{x}"}, {});
  const testing::TemporaryFolder place_;
  const std::string folder_ = place_.path();
  std::atomic<StopRequest> stop_{StopRequest::kNone};
  TrialSpec prototype_;
  Objective objective_ = Objective::kSamplesPerSecond;
};

/// Waits for what comes at once unless something is wrong.
template <typename Condition>
void wait_until(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
}

/// What the model had expected of a trial, as far as the search and its texts use it.
std::vector<double> thought(const FinishedTrial& trial) {
  const auto& expected = trial.result.expected;
  if (!expected) return {};
  const Throughput& score = expected->score;
  return {score.samples_per_s, score.low, score.high,
          static_cast<double>(expected->peak_memory_bytes.value_or(0))};
}

TrialRunner counting(int& runs) {
  return [&runs](const TrialSpec& spec, const auto&, const auto&) {
    ++runs;
    return answer(spec);
  };
}

/// As a script whose batch size is the placeholder, in a search that counts steps.
TEST_F(StudyRuns, StepsOfOtherSizesAreNotCompared) {
  objective_ = Objective::kStepsPerSecond;
  std::vector<FinishedTrial> trials;
  const auto runner = [&](const TrialSpec& spec, const auto&, const auto&) {
    TrialResult result = answer(spec);
    result.observed["batch_size"] = spec.config.at("x");
    return result;
  };
  ASSERT_EQ(*run(runner, &trials), StudyEnd::kFinished);
  ASSERT_GT(trials.size(), 1u);
  EXPECT_EQ(trials[0].result.outcome, Outcome::kOk);
  for (const FinishedTrial& trial : trials) {
    if (trial.config == trials[0].config || trial.out_of_memory()) continue;
    EXPECT_EQ(trial.result.outcome, Outcome::kInvalid);
    EXPECT_FALSE(trial.result.throughput);
    EXPECT_EQ(trial.result.message,
              fmt::format("batch_size was {}, and {} with the defaults: steps of other sizes are "
                          "not compared",
                          trial.config.at("x"), trials[0].config.at("x")));
  }
}

TEST_F(StudyRuns, TrialsAreToldWhatToBeatButFinalistsTakeTheirTime) {
  std::vector<std::optional<double>> told;
  std::vector<FinishedTrial> trials;
  const auto runner = [&](const TrialSpec& spec, const auto&, const auto&) {
    told.push_back(spec.rate_to_beat);
    return answer(spec);
  };
  ASSERT_EQ(*run(runner, &trials), StudyEnd::kFinished);
  EXPECT_FALSE(told.front());
  EXPECT_EQ(told[1], trials[0].result.throughput->low);
  for (size_t i = 0; i < trials.size(); ++i) {
    EXPECT_TRUE(trials[i].why != kConfirm || !told[i]);
  }
}

TEST_F(StudyRuns, EachTrialIsShownAndGetsItsOwnFolderAndShare) {
  Result<Study> study = Study::open(path(), identity(), true);
  History history(space_);
  const auto strategy = make_strategy("grid", space_, {});
  const Plan plan(space_, *strategy, {.time = std::chrono::hours(1), .max_trials = 4});
  std::vector<TrialSpec> specs;
  const TrialRunner runner = [&](const TrialSpec& spec, const auto&, const auto& on_progress) {
    specs.push_back(spec);
    on_progress({});
    TrialResult result = answer(spec);
    if (spec.id == 2) result.outcome = Outcome::kGpuOom;
    result.steps = spec.id == 1 ? 0 : 1;
    result.infers = spec.id == 3;
    return result;
  };
  Told told;
  TrialSpec prototype;
  prototype.command = {"train", "{x}"};
  const auto end = run_study({.plan = plan,
                              .study = *study,
                              .history = history,
                              .space = space_,
                              .prototype = prototype,
                              .run_trial = runner,
                              .stop = stop_,
                              .observer = told,
                              .shares = {Share{.gpus = {"3"}, .cores = {}}}});
  ASSERT_TRUE(end) << end.error();
  EXPECT_EQ(told.started, (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(told.progressed, told.started);
  EXPECT_EQ(told.finished, told.started);
  ASSERT_EQ(specs.size(), 4U);
  for (size_t i = 0; i < specs.size(); ++i) {
    const TrialSpec& spec = specs[i];
    EXPECT_EQ(spec.id, told.started[i]);
    EXPECT_EQ(spec.config, history.trials()[i].config);
    EXPECT_EQ(spec.command, prototype.command);
    EXPECT_EQ(spec.directory, folder_ + "/a.study.trials/" + std::to_string(spec.id));
    EXPECT_EQ(spec.share.gpus, std::vector<std::string>{"3"});
    EXPECT_EQ(spec.infers, spec.id < 4 ? std::nullopt : std::optional(true))
        << "the third is the first that was measured";
  }
}

TEST_F(StudyRuns, AThirdTrialTellsWhatLargerOnesTakeOfThisHost) {
  const std::vector<std::string> command = {"train", "{batch_size}", "{num_workers}"};
  space_ = *make_space({"batch_size=8,16,32,64", "num_workers=1"}, command, {});
  std::vector<std::optional<HostUse>> told;
  std::vector<FinishedTrial> trials;
  const auto runner = [&](const TrialSpec& spec, const auto&, const auto&) {
    told.push_back(spec.expected_use);
    const int64_t batch = *number_of(spec.config, "batch_size");
    TrialResult result = ran_at(static_cast<double>(batch));
    if (batch == 64) return result;  // nothing was seen, so another run could be told, too
    const uint64_t in_flight = static_cast<uint64_t>(2 * batch) << 20;
    result.host_use =
        HostUse{.memory_bytes = (uint64_t{1} << 30) + in_flight, .shm_bytes = in_flight};
    return result;
  };
  ASSERT_EQ(*run(runner, &trials, "grid"), StudyEnd::kFinished);
  ASSERT_GT(told.size(), 4U);
  EXPECT_FALSE(told[2]) << "two trials are too few";
  ASSERT_TRUE(told[3]);
  EXPECT_EQ(told[3]->shm_bytes, uint64_t{128} << 20);
  EXPECT_EQ(trials[4].why, kConfirm);
  EXPECT_EQ(trials[4].config.at("batch_size"), "64");
  EXPECT_FALSE(told[4]) << "it has run here";

  std::filesystem::remove(path());
  told.clear();
  prototype_.slurm = true;
  ASSERT_EQ(*run(runner, &trials, "grid"), StudyEnd::kFinished);
  ASSERT_GT(told.size(), 4U);
  EXPECT_FALSE(told[3]) << "it may run on another host";
}

TEST_F(StudyRuns, WhatATrialCannotTakeIsNotTried) {
  space_ = *make_space({"num_workers=0,1,2"}, {"python", "train.py"}, {});
  std::set<Config> tried;
  const auto runner = [&](const TrialSpec& spec, const auto&, const auto&) {
    tried.insert(spec.config);
    TrialResult result = ran_at(spec.config.empty() ? 10 : 5);
    result.limits["num_workers"] = {.most = 1, .why = "few files"};
    return result;
  };
  ASSERT_EQ(*run(runner, nullptr, "grid"), StudyEnd::kFinished);
  EXPECT_EQ(tried, (std::set<Config>{{}, {{"num_workers", "0"}}, {{"num_workers", "1"}}}));
}

TEST_F(StudyRuns, AFirstTrialForAnotherNumberOfRanksDoesNotCount) {
  space_ = *make_space({"batch_size=8,16,32,64"}, {"python", "spawn.py"}, {}, 64);
  std::vector<std::string> accumulation;
  std::vector<FinishedTrial> trials;
  const auto runner = [&](const TrialSpec& spec, const auto&, const auto&) {
    accumulation.push_back(spec.config.at("accumulation"));
    TrialResult result = ran_at(static_cast<double>(*number_of(spec.config, "batch_size")));
    result.ranks = result.readers = 2;
    return result;
  };
  ASSERT_EQ(*run(runner, &trials, "grid"), StudyEnd::kFinished);
  EXPECT_EQ(trials.size() + 1, accumulation.size());
  EXPECT_EQ(trials.front().id, 2);
  EXPECT_EQ(accumulation[0], "2") << "64 samples a step in batches of 32 of one rank";
  EXPECT_EQ(accumulation[1], "1");
  EXPECT_EQ(*Study::open_to_read(path())->interrupted_count(), 1);
}

/// The script starts its two ranks itself; the first one dies before the other has reported.
TEST_F(StudyRuns, RanksThatAFailedFirstTrialDidNotTellAreLearntFromTheNext) {
  space_ = *make_space({"batch_size=8,16,32,64"}, {"python", "spawn.py"}, {}, 64);
  std::vector<FinishedTrial> trials;
  const auto runner = [&](const TrialSpec& spec, const auto&, const auto&) {
    const int64_t batch = *number_of(spec.config, "batch_size");
    if (batch >= 32) return ended_with(Outcome::kGpuOom);
    TrialResult result = ran_at(static_cast<double>(batch));
    if (2 * batch * *number_of(spec.config, "accumulation") != 64) {
      result = ended_with(Outcome::kInvalid);
    }
    result.ranks = result.readers = 2;
    return result;
  };
  ASSERT_EQ(*run(runner, &trials, "grid"), StudyEnd::kFinished);
  std::vector<std::string> batches;
  for (const FinishedTrial& trial : trials) {
    EXPECT_NE(trial.result.outcome, Outcome::kInvalid) << "of trial " << trial.id;
    if (!trial.confirms()) batches.push_back(trial.config.at("batch_size"));
  }
  EXPECT_THAT(batches, ElementsAre("32", "8", "16"));
  EXPECT_EQ(trials.at(1).id, 3);
  EXPECT_EQ(*Study::open_to_read(path())->interrupted_count(), 1);
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
    EXPECT_EQ(after[i].result.resting_memory_bytes, before[i].result.resting_memory_bytes);
    EXPECT_EQ(after[i].result.fullest_gpu, before[i].result.fullest_gpu);
    EXPECT_EQ(after[i].result.wall, before[i].result.wall);
    EXPECT_EQ(after[i].result.ranks, 2);
    EXPECT_EQ(after[i].result.notes, before[i].result.notes);
    EXPECT_EQ(thought(after[i]), thought(before[i]));
    if (!before[i].ok()) continue;
    EXPECT_EQ(after[i].result.throughput->high, before[i].result.throughput->high);
  }
}

TEST_F(StudyRuns, KilledAnywhereItTakesTheSamePath) {
  std::vector<FinishedTrial> whole;
  int runs = 0;
  ASSERT_TRUE(run(counting(runs), &whole));
  std::filesystem::remove(path());

  // Again and again a child kills itself by SIGKILL in its nth trial, after n - 1 finished ones.
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
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(resumed[i].config, whole[i].config);
    EXPECT_EQ(resumed[i].why, whole[i].why);
    EXPECT_EQ(thought(resumed[i]), thought(whole[i]));
  }
  EXPECT_FALSE(thought(whole[1]).empty());
  EXPECT_EQ(*Study::open(path(), identity(), true)->interrupted_count(),
            static_cast<int64_t>(whole.size()) - 1);
}

TEST_F(StudyRuns, CancelledTrialsAreAskedAgain) {
  const auto cancel = [this](const TrialSpec&, const std::atomic<StopRequest>& stop, const auto&) {
    stop_ = StopRequest::kKill;
    wait_until([&stop] { return stop == StopRequest::kKill; });
    TrialResult result;
    if (stop == StopRequest::kKill) result.outcome = Outcome::kCancelled;
    return result;
  };
  EXPECT_EQ(*run(cancel), StudyEnd::kStopped);
  EXPECT_EQ(*Study::open(path(), identity(), true)->interrupted_count(), 1);
  stop_ = StopRequest::kNone;
  int runs = 0;
  std::vector<FinishedTrial> trials;
  EXPECT_EQ(*run(counting(runs), &trials), StudyEnd::kFinished);
  EXPECT_EQ(trials.front().why, "first");
  EXPECT_EQ(std::ssize(trials), runs);
}

TEST_F(StudyRuns, WhatEndsAsTheSearchIsStoppedStillCounts) {
  const auto runner = [this](const TrialSpec& spec, const auto&, const auto&) {
    stop_ = StopRequest::kEnd;
    return answer(spec);
  };
  std::vector<FinishedTrial> trials;
  EXPECT_EQ(*run(runner, &trials), StudyEnd::kStopped);
  EXPECT_EQ(trials.size(), 1U);
}

TEST_F(StudyRuns, ACrashIsTriedOnceMore) {
  std::vector<FinishedTrial> trials;
  const auto crash = [](const TrialSpec&, const auto&, const auto&) { return TrialResult{}; };
  EXPECT_EQ(*run(crash, &trials), StudyEnd::kFinished);
  EXPECT_EQ(trials.size(), 2) << "the defaults crash twice: the command is wrong";
}

TEST_F(StudyRuns, DoesNotEndWhileAnotherProcessRunsATrial) {
  std::array<int, 2> started{};
  ASSERT_EQ(pipe(started.data()), 0);
  const pid_t other = fork();
  if (other == 0) {
    Result<Study> study = Study::open(path(), identity(), true);
    const int64_t id = *study->start({{{"x", "7"}}, "test"});
    (void)!write(started[1], "x", 1);
    usleep(100'000);  // nobody can see that we ask in vain meanwhile
    TrialSpec spec;
    spec.config = {{"x", "7"}};
    _exit(study->finish(id, answer(spec)) ? 0 : 1);
  }
  close(started[1]);
  char begun = 0;
  ASSERT_EQ(read(started[0], &begun, 1), 1);
  int runs = 0;
  std::vector<FinishedTrial> trials;
  EXPECT_EQ(*run(counting(runs), &trials, "random"), StudyEnd::kFinished);
  EXPECT_GT(runs, 0) << "the first trial of a search runs alone, the others when it has ended";
  EXPECT_EQ(std::ssize(trials), runs + 1);
  close(started[0]);
  waitpid(other, nullptr, 0);
}

TEST_F(StudyRuns, BeatsWhileATrialRunsButNotAllTheTime) {
  const auto heartbeat = [this] {
    const Result<Database> database = Database::open(path());
    Statement row = database->prepare("SELECT heartbeat_ns FROM claims");
    return row.step() ? row.integer(0) : 0;
  };
  using Clock = std::chrono::steady_clock;
  const auto before = Clock::now();
  std::optional<Clock::duration> beaten_after;
  const auto runner = [&](const TrialSpec& spec, const auto&, const auto&) {
    const int64_t at_first = heartbeat();
    while (!beaten_after &&
           Clock::now() - before < std::chrono::nanoseconds(Claims::kDeadAfterNs)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (heartbeat() != at_first) beaten_after = Clock::now() - before;
    }
    return answer(spec);
  };
  ASSERT_EQ(*run(runner), StudyEnd::kFinished);
  ASSERT_TRUE(beaten_after) << "others would have taken it for dead";
  EXPECT_GE(*beaten_after, std::chrono::nanoseconds(Claims::kBeatEveryNs));
}

TrialResult answering(const TrialSpec& spec, const std::atomic<StopRequest>&,
                      const std::function<void(const TrialProgress&)>&) {
  return answer(spec);
}

TEST_F(StudyRuns, SideBySideNoConfigurationRunsTwiceAndTheConfirmingOnesRunAlone) {
  for (const char* name : {"model", "coordinate", "random", "grid"}) {
    std::filesystem::remove(path());
    std::vector<FinishedTrial> trials;
    const auto end = run(answering, &trials, name, 3);
    ASSERT_TRUE(end) << end.error();
    EXPECT_EQ(*end, StudyEnd::kFinished);
    EXPECT_LE(trials.size(), 15U);
    std::set<Config> explored;
    int most = 0;
    for (const FinishedTrial& trial : trials) {
      most = std::max(most, trial.result.neighbours);
      if (trial.why == kConfirm || trial.why == "first") {
        EXPECT_EQ(trial.result.neighbours, 0) << name;
      } else {
        EXPECT_TRUE(explored.insert(trial.config).second) << name << " twice: " << trial.why;
      }
    }
    EXPECT_EQ(trials.front().why, "first");
    EXPECT_GE(most, 1) << name;
    EXPECT_LE(most, 2) << name;
  }
}

TEST_F(StudyRuns, TrialsSideBySideKnowOfEachOtherAndHaveTheirOwnShares) {
  std::latch both(2);
  std::mutex mutex;
  std::map<int64_t, std::vector<std::string>> gpus;  // by trial
  std::vector<FinishedTrial> trials;
  const auto runner = [&](const TrialSpec& spec, const auto&, const auto&) {
    {
      const std::lock_guard lock(mutex);
      gpus[spec.id] = spec.share.gpus;
    }
    if (spec.id == 2 || spec.id == 3) {
      both.count_down();
      wait_until([&both] { return both.try_wait(); });
    }
    return answer(spec);
  };
  ASSERT_EQ(*run(runner, &trials, "grid", 2), StudyEnd::kFinished);
  EXPECT_THAT(gpus[2], ElementsAre("0"));
  EXPECT_THAT(gpus[3], ElementsAre("1"));
  for (const FinishedTrial& trial : trials) {
    if (trial.id == 2 || trial.id == 3) {
      EXPECT_EQ(trial.result.neighbours, 1) << "of trial " << trial.id;
    }
  }
}

TEST_F(StudyRuns, SideBySideNoTrialMustBeatOneThatRanAlone) {
  std::mutex mutex;
  std::map<int64_t, std::optional<double>> told;  // by trial
  const auto runner = [&](const TrialSpec& spec, const auto&, const auto&) {
    const std::lock_guard lock(mutex);
    told[spec.id] = spec.rate_to_beat;
    TrialResult result = answer(spec);
    if (spec.id == 1) result.throughput = Throughput{200, 199, 201};
    return result;
  };
  std::vector<FinishedTrial> trials;
  ASSERT_EQ(*run(runner, &trials, "grid", 2), StudyEnd::kFinished);
  ASSERT_GT(trials.size(), 3U);
  for (const FinishedTrial& trial : trials) {
    EXPECT_LT(told[trial.id].value_or(0), 199) << "trial " << trial.id;
  }
}

TEST_F(StudyRuns, WhatAnotherProcessBeginsBesideATrialIsItsNeighbour) {
  // Kept open, because closing any descriptor of a file drops the process's locks on it.
  std::optional<Study> other;
  int64_t begun = 0, longer = 0, shorter = 0;
  int runs = 0;
  const auto runner = [&](const TrialSpec& spec, const auto&, const auto&) {
    const auto begin = [&](const char* x) { return *other->start({{{"x", x}}, "test"}); };
    const auto end = [&] { ASSERT_TRUE(other->finish(begun, ran_at(10, 1))); };
    switch (++runs) {
      case 2:
        other.emplace(*Study::open(path(), identity(), true));
        begun = begin("7");
        longer = spec.id;
        break;
      case 3:
        end();
        break;
      case 4:
        begun = begin("9");
        end();
        shorter = spec.id;
    }
    return answer(spec);
  };
  std::vector<FinishedTrial> trials;
  ASSERT_EQ(*run(runner, &trials, "random"), StudyEnd::kFinished);
  int found = 0;
  for (const FinishedTrial& trial : trials) {
    if (trial.id != longer && trial.id != shorter) continue;
    EXPECT_EQ(trial.result.neighbours, 1) << "of trial " << trial.id;
    ++found;
  }
  EXPECT_EQ(found, 2);
}

TEST_F(StudyRuns, ProcessesThatShareAStudyRunExactlyItsTrials) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::vector<FinishedTrial> seen;
      const auto end = run(answering, &seen, "random", 2);
      _exit(end && *end == StudyEnd::kFinished ? static_cast<int>(seen.size()) : 0);
    }
    children.push_back(child);
  }
  std::vector<int> seen;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    seen.push_back(WEXITSTATUS(status));
  }
  int runs = 0;
  std::vector<FinishedTrial> trials;
  ASSERT_TRUE(run(counting(runs), &trials));
  EXPECT_EQ(runs, 0);
  EXPECT_GT(trials.size(), 10U);
  EXPECT_LE(trials.size(), 15U);
  EXPECT_THAT(seen, ::testing::Each(static_cast<int>(trials.size())));
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
              HasSubstr("a study of version 2, this program reads version 1"));
}

TEST_F(StudyRuns, LookingAtAStudyLeavesNothingBesideIt) {
  const auto files = [this] {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  };
  const std::string odd = folder_ + "/a?b#c%20.db";
  {
    Result<Study> study = Study::open(odd, identity(), false);
    const auto id = study->start({.config = {{"batch_size", "64"}}, .why = "default"});
    TrialResult result;
    result.message = "no";
    ASSERT_TRUE(study->finish(*id, result));
    const Result<StudyContent> meanwhile = read_study(odd);
    ASSERT_TRUE(meanwhile) << meanwhile.error();
    EXPECT_EQ(meanwhile->trials.size(), 1U) << "while the search runs";
  }
  const auto before = files();
  const Result<StudyContent> content = read_study(odd);
  ASSERT_TRUE(content) << content.error();
  EXPECT_EQ(content->trials[0].result.message, "no");
  EXPECT_EQ(content->trials_directory, folder_ + "/a?b#c%20.trials");
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace redline::tuner
