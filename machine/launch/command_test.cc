#include "machine/launch/command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/clock.h"
#include "tests/temporary_folder.h"
#include "tests/variables.h"

namespace redline::launch {
namespace {

tl::expected<int, std::string> shell(const std::string& script) {
  return run_command({"sh", "-c", script}, Environment::current());
}

TEST(RunCommand, GivesTheExitStatus) {
  EXPECT_EQ(shell("exit 0"), 0);
  EXPECT_EQ(shell("exit 3"), 3);
}

TEST(RunCommand, ASignalIsOneHundredTwentyEightAndItsNumber) {
  EXPECT_EQ(shell("kill -TERM $$"), 128 + SIGTERM);
  EXPECT_EQ(shell("kill -KILL $$"), 128 + SIGKILL);
}

TEST(CommandOutput, IsThatOfACommandThatSucceedsInTime) {
  using std::chrono::minutes;
  EXPECT_EQ(command_output({"sh", "-c", "echo words; echo noise >&2"}, minutes(1)), "words\n");
}

TEST(CommandOutput, SaysWhyThereIsNone) {
  const auto error = [](const std::vector<std::string>& command, std::chrono::milliseconds limit) {
    const auto output = command_output(command, limit);
    return output ? "no error: " + *output : output.error();
  };
  using std::chrono::minutes;
  EXPECT_EQ(error({"sh", "-c", "echo words; exit 3"}, minutes(1)), "ended with status 3");
  EXPECT_EQ(error({"sh", "-c", "kill -SEGV $$"}, minutes(1)),
            "was ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(error({"/no/such/program"}, minutes(1)), "did not start: No such file or directory");
  EXPECT_EQ(error({"sleep", "1000"}, std::chrono::milliseconds(100)), "did not end in 0.1 s");
}

TEST(RunCommand, SaysWhyACommandCannotStart) {
  const auto result = run_command({"/no/such/program"}, Environment::current());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), "No such file or directory");
}

TEST(WhyNoProgram, IsWhatAStartWouldSay) {
  const testing::TemporaryFolder folder;
  const std::string script = folder / "train.py";
  std::ofstream(script) << "print()\n";
  for (const std::string& word : {script, std::string("/no/such/program"), std::string("pyhton"),
                                  folder.path(), std::string()}) {
    const auto started = run_command({word}, Environment::current());
    ASSERT_FALSE(started) << word;
    EXPECT_EQ(why_no_program(word), started.error()) << word;
  }
  EXPECT_EQ(why_no_program("sh"), "");
  EXPECT_EQ(why_no_program("/bin/sh"), "");
}

TEST(WhyNoProgram, AFileThatCannotRunDoesNotHideALaterOneInPath) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "sh") << "no program\n";
  const testing::Variables path("PATH", folder.path() + "::/nowhere:/bin");
  EXPECT_EQ(why_no_program("sh"), "");
  std::ofstream(folder / "pyhton") << "no program\n";
  EXPECT_EQ(why_no_program("pyhton"), "Permission denied");
}

TEST(StartProblem, TellsWhatToTypeInstead) {
  const testing::TemporaryFolder folder;
  const std::string script = folder / "train.py", odd = folder / "my train.py";
  for (const std::string& file : {script, odd}) std::ofstream(file) << "print()\n";
  const auto problem = [](const std::vector<std::string>& command) {
    return start_problem(command, "No", "Otherwise");
  };
  EXPECT_EQ(problem({script, "-n", "3"}), script + ": No. Start it with Python: python " + script);
  EXPECT_EQ(problem({odd}), odd + ": No. Start it with Python: python '" + odd + "'");
  EXPECT_EQ(problem({"none.py"}), "none.py: No. Otherwise");
  EXPECT_EQ(problem({"python train.py --steps 3"}),
            "python train.py --steps 3: No. If these are several words, give them without quotes");
  EXPECT_EQ(problem({"A=1 python"}),
            "A=1 python: No. If these are several words, give them without quotes");
  EXPECT_EQ(problem({"OMP_NUM_THREADS=1", "python", "train.py"}),
            "OMP_NUM_THREADS=1: No. Put env before it, which sets variables: env "
            "OMP_NUM_THREADS=1");
  EXPECT_EQ(problem({"A=b c", "python"}),
            "A=b c: No. Put env before it, which sets variables: env 'A=b c'");
  EXPECT_EQ(problem({"HF_TOKEN=abc", "python"}),
            "HF_TOKEN=***: No. Put env before it, which sets variables: env 'HF_TOKEN=***'");
  EXPECT_EQ(problem({"./a=1", "x"}), "./a=1: No. Otherwise");
  EXPECT_EQ(start_problem({"pyhton", "train.py"}, "No"), "pyhton: No");
}

TEST(RunCommand, HandsOverTheEnvironmentAlone) {
  Environment environment;
  environment.set("PATH", "/usr/bin:/bin");
  environment.set("REDLINE_TEST_VALUE", "7");
  EXPECT_EQ(run_command({"sh", "-c", "exit $REDLINE_TEST_VALUE"}, environment), 7);
}

TEST(RunCommand, PassesOnASignalThatWasSentToUsAlone) {
  EXPECT_EQ(shell("trap 'exit 5' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"), 5);
}

constexpr int kSignals = 6;  // a second copy that comes at once may be lost in the first one

/// How often the command gets a signal that `send` sends to a process that runs it. The command
/// says so by a line for each.
std::string lines_of_command(const std::function<void(pid_t)>& send) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t runner = fork();
  if (runner == 0) {
    setpgid(0, 0);
    dup2(ends[1], STDOUT_FILENO);
    const auto status =
        shell("trap 'echo got' USR1; trap 'exit 0' TERM; echo ready; while :; do :; done");
    _exit(status.value_or(1));
  }
  close(ends[1]);
  std::string lines;
  char byte = 0;
  const auto wait_for_line = [&] {
    do {
      if (read(ends[0], &byte, 1) != 1) return;
      lines += byte;
    } while (byte != '\n');
  };
  wait_for_line();
  for (int i = 0; i < kSignals; ++i) {
    send(runner);
    wait_for_line();
  }
  kill(runner, SIGTERM);
  while (read(ends[0], &byte, 1) == 1) lines += byte;
  close(ends[0]);
  EXPECT_EQ(wait_for_exit(runner), 0);
  return lines;
}

TEST(RunCommand, EachSignalReachesTheCommandOnce) {
  std::string once_each = "ready\n";
  for (int i = 0; i < kSignals; ++i) once_each += "got\n";
  EXPECT_EQ(lines_of_command([](pid_t runner) { kill(runner, SIGUSR1); }), once_each);
  // Whoever gets no core for 0.2 s may pass a signal twice.
  std::string lines;
  for (int i = 0; i < 5 && lines != once_each; ++i) {
    const int64_t begin_ns = monotonic_ns();
    lines = lines_of_command([](pid_t runner) { killpg(runner, SIGUSR1); });
    if (monotonic_ns() - begin_ns < 200'000'000) break;
  }
  EXPECT_EQ(lines, once_each);
}

TEST(RunCommand, LeavesTheCallersSignalsAsTheyWere) {
  sigset_t before;
  sigset_t after;
  sigprocmask(SIG_SETMASK, nullptr, &before);
  ASSERT_EQ(shell("exit 0"), 0);
  sigprocmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
  EXPECT_EQ(sigismember(&after, SIGCHLD), 0);
}

TEST(RunCommand, AnIgnoredChildSignalDoesNotSwallowTheStatus) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(shell("exit 4"), 4);
  std::signal(SIGCHLD, before);
}

}  // namespace
}  // namespace redline::launch
