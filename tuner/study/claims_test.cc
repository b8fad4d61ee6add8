// Tests who runs which trial if several processes share a study, and who gets the trials of those
// that are gone.
#include "tuner/study/claims.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/temporary_folder.h"
#include "tuner/study/study.h"

namespace redline::tuner {
namespace {

class SharedStudy : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_ / "a.db"; }
  [[nodiscard]] Result<Study> open(bool resume = true) const {
    return Study::open(path(), identity_, resume);
  }

  const testing::TemporaryFolder folder_;
  const StudyIdentity identity_{.command = {"train", "{x}"},
                                .space = "{}",
                                .memory_limit_bytes = {},
                                .metric_regex = "",
                                .memory_metric_regex = ""};
};

int64_t start_in(Study& study, const std::string& x) {
  return study.start({{{"x", x}}, "test"}).value_or(-1);
}

/// What runs, as one sees who asks for a trial.
Result<std::vector<Proposal>> running_in(Study& study) {
  std::vector<Proposal> seen;
  const auto claim = study.claim(
      0, [](const FinishedTrial&) {},
      [&seen](const std::vector<Proposal>& running) {
        seen = running;
        return std::nullopt;
      });
  if (!claim) return tl::unexpected(claim.error());
  return seen;
}

/// Runs `body` in a forked child and returns its result.
template <typename Body>
bool in_another_process(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(SharedStudy, AnotherProcessIsLetInOnlyToShare) {
  const Result<Study> first = open();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->joined());
  EXPECT_TRUE(in_another_process([this] {
    const Result<Study> alone = open(false);
    const Result<Study> shared = open();
    return !alone && alone.error().find("another autotune is using it") != std::string::npos &&
           shared && shared->joined();
  }));
  EXPECT_TRUE(in_another_process([this] {
    StudyIdentity other = identity_;
    other.command = {"something", "else"};
    return !Study::open(path(), other, true);
  }));
}

TEST_F(SharedStudy, ADeadProcessLosesItsTrialsToTheOthers) {
  Result<Study> survivor = open();
  ASSERT_TRUE(survivor);
  ASSERT_GT(start_in(*survivor, "1"), 0);
  int64_t lost = 0;
  for (const bool is_reaped : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      Result<Study> study = open();
      _exit(study && start_in(*study, "2") > 0 && start_in(*study, "3") > 0 ? 0 : 1);
    }
    siginfo_t ended{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | (is_reaped ? 0 : WNOWAIT)),
              0);
    ASSERT_EQ(ended.si_status, 0);
    const auto seen = running_in(*survivor);
    ASSERT_TRUE(seen) << seen.error();
    ASSERT_EQ(seen->size(), 1U) << "the living one's";
    EXPECT_EQ(seen->front().config.at("x"), "1");
    lost += 2;
    EXPECT_EQ(*survivor->interrupted_count(), lost);
    if (!is_reaped) waitpid(child, nullptr, 0);
  }
}

TEST_F(SharedStudy, AnotherProcessWithTheNumberOfADeadOneIsNotTakenForIt) {
  Result<Study> study = open();
  ASSERT_GT(start_in(*study, "1"), 0);
  const auto running_if_claimed_by = [&](const std::string& claimer) {
    const Result<Database> database = Database::open(path());
    EXPECT_TRUE(database->execute("UPDATE claims SET claimer = " + claimer));
    return running_in(*study)->size();
  };
  EXPECT_EQ(running_if_claimed_by("'1 ' || " + std::to_string(getpid()) + " || ' 7'"), 1U)
      << "who is in another container cannot be seen from here";
  EXPECT_EQ(running_if_claimed_by("'no process'"), 1U);
  struct stat own {};
  ASSERT_EQ(stat("/proc/self/ns/pid", &own), 0);
  EXPECT_EQ(running_if_claimed_by("'" + std::to_string(own.st_ino) + " " +
                                  std::to_string(getpid()) + " 7'"),
            0U)
      << "this process began at another time";
}

TEST_F(SharedStudy, AProcessThatStoppedBeatingIsTakenForDeadAndItsLateResultDropped) {
  Result<Study> hung = open();
  const int64_t id = start_in(*hung, "1");
  const auto age = [this](int64_t by_ns) {
    const Result<Database> database = Database::open(path());
    return database->execute("UPDATE claims SET heartbeat_ns = heartbeat_ns - " +
                             std::to_string(by_ns));
  };
  const auto running_seen_by_another = [this](size_t count) {
    return in_another_process([&] {
      Result<Study> study = open();
      const auto seen = running_in(*study);
      return seen && seen->size() == count;
    });
  };
  ASSERT_TRUE(age(Claims::kDeadAfterNs / 2));
  EXPECT_TRUE(running_seen_by_another(1));
  ASSERT_TRUE(hung->beat());
  ASSERT_TRUE(age(Claims::kDeadAfterNs / 2));
  EXPECT_TRUE(running_seen_by_another(1)) << "the beat made it young";
  ASSERT_TRUE(age(Claims::kDeadAfterNs));
  EXPECT_TRUE(running_seen_by_another(0));
  ASSERT_TRUE(hung->finish(id, TrialResult()));
  EXPECT_TRUE(hung->finished()->empty());
  EXPECT_EQ(*hung->interrupted_count(), 1);
}

}  // namespace
}  // namespace redline::tuner
