#include "tuner/trial/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tuner/trial/testing_run_trial.h"

namespace redline::tuner {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class RunTrial : public PythonTrial {};

TEST_F(RunTrial, MeasuresAndStopsWithoutWaitingForTheWholeTraining) {
  const TrialResult result = python("train(1000000)");
  ASSERT_EQ(result.outcome, Outcome::kOk) << result.message << result.stderr_tail;
  ASSERT_TRUE(result.throughput);
  EXPECT_GT(result.throughput->samples_per_s, 0);
  EXPECT_LE(result.throughput->low, result.throughput->samples_per_s);
  EXPECT_GE(result.throughput->high, result.throughput->samples_per_s);
  EXPECT_LT(result.steps, 1000000);
  EXPECT_GT(result.peak_memory_bytes.value_or(0), 0U);
  EXPECT_EQ(result.ranks, 1);
}

TEST_F(RunTrial, ASurelySlowerTrainingIsEndedEarlyAndStillCounts) {
  spec_.rate_to_beat = 1e9;
  spec_.measure_for = std::chrono::seconds(2);
  // A tenth of that time is enough to be ended early, and a quarter to be measured.
  const TrialResult result = python(R"(
begin = time.monotonic_ns()
for step in range(1, 49):
    say(type="step", rank=0, world=1, t=begin + step * 10**7, steps=step, samples=step)
time.sleep(1000))");
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message;
  ASSERT_TRUE(result.throughput);
  EXPECT_EQ(result.message, "stopped early: slower than the best");
}

TEST_F(RunTrial, FillsPlaceholdersAndLeavesTheOtherKnobsToTheHook) {
  spec_.config = {{"batch_size", "32"}, {"amp", "bf16"}};
  setenv("REDLINE_TEST_BATCH", "b={batch_size}", 1);
  spec_.command = {"python3", "-c", std::string(kPrelude) + R"(
print(sys.argv[1], os.environ["REDLINE_TEST_BATCH"], os.environ["REDLINE_KNOBS"])
train(20))",
                   "{batch_size}"};
  const TrialResult result = run_trial(spec_, stop_, {});
  unsetenv("REDLINE_TEST_BATCH");
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message;
  EXPECT_EQ(file("stdout"), "32 b=32 {\"amp\":\"bf16\"}\n");
}

TEST_F(RunTrial, EachTrialHasItsOwnPortAndTemporaryFolder) {
  const char* body = R"(
import tempfile
print(os.environ["MASTER_PORT"], os.environ["PET_MASTER_PORT"], tempfile.gettempdir())
)";
  (void)python(body);
  const std::string first = file("stdout");
  (void)python(body);
  EXPECT_NE(first, file("stdout"));
  EXPECT_THAT(first, HasSubstr(spec_.directory + "/tmp"));
  EXPECT_FALSE(fs::exists(spec_.directory + "/tmp"));
}

TEST_F(RunTrial, ATrialBelowALongPathHasRoomForSockets) {
  const std::string root = spec_.directory;
  spec_.directory += "/" + std::string(120, 'x');
  const TrialResult result = python(R"(
import multiprocessing.connection, tempfile
with multiprocessing.connection.Listener(tempfile.mkdtemp() + "/listener-12345678"):
    print(tempfile.gettempdir())
)");
  const std::string temporary = file("stdout");
  EXPECT_THAT(temporary, Not(HasSubstr("xxx"))) << result.message;
  ASSERT_FALSE(temporary.empty());
  EXPECT_FALSE(fs::exists(temporary.substr(0, temporary.size() - 1)));
  spec_.directory = root;
}

TEST_F(RunTrial, NothingStaysOfAProcessThatHides) {
  // The process has its own session, is orphaned by a double fork, ignores SIGTERM, and lacks our
  // environment.
  const TrialResult result = python(R"(
ready = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open(folder + "/hidden", "w").write(str(os.getpid()))
        os.write(ready[1], b"x")
        while True: time.sleep(60)
    os._exit(0)
sleeper = subprocess.Popen(["setsid", "sleep", "1000"], env={"PATH": os.environ["PATH"]})
open(folder + "/sleeper", "w").write(str(sleeper.pid))
open(folder + "/root", "w").write(str(os.getpid()))
os.read(ready[0], 1)
os.wait()
train(1000000))");
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message;
  for (const char* name : {"hidden", "sleeper", "root"}) EXPECT_TRUE(gone(name)) << name;
}

TEST_F(RunTrial, NothingStaysThatWasOrphanedUnseenWithoutItsEnvironment) {
  // The process is orphaned before the first look through /proc can see it.
  const TrialResult result = python(R"(
child = subprocess.Popen(["sleep", "1000"], start_new_session=True, env={"PATH": os.environ["PATH"]})
open(folder + "/hidden", "w").write(str(child.pid))
os._exit(3))");
  EXPECT_EQ(result.outcome, Outcome::kCrash) << result.message;
  EXPECT_TRUE(gone("hidden"));
}

TEST_F(RunTrial, NothingStaysOfAnOrphanThatEndedUnseen) {
  const TrialResult result = python(R"(
ends = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        open(folder + "/orphan", "w").write(str(os.getpid()))
    os._exit(0)
os.close(ends[1])
os.read(ends[0], 1)  # returns when both have ended
os.wait()
train(20))");
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message;
  EXPECT_TRUE(gone("orphan"));
}

TEST_F(RunTrial, NothingStaysAfterACommandThatEndsBeforeItsChildren) {
  const TrialResult result = python(R"(
child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
open(folder + "/hidden", "w").write(str(child.pid))
open(folder + "/root", "w").write(str(os.getpid()))
train(20))");
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message;
  EXPECT_TRUE(gone("hidden"));
  EXPECT_TRUE(gone("root"));
}

TEST_F(RunTrial, ATypedReportTellsWhoRanOutOfMemoryThoughPeersHang) {
  TrialResult result;
  // On a busy machine the second report may come too late.
  for (int i = 0; i < 5 && result.outcome != Outcome::kGpuOom; ++i) {
    result = python(R"(
say(type="failure", rank=0, kind="exception", error="RuntimeError", message="Broken pipe")
time.sleep(0.1)
say(type="failure", rank=1, kind="gpu_oom", error="torch.OutOfMemoryError", message="CUDA out")
time.sleep(1000))");
  }
  EXPECT_EQ(result.outcome, Outcome::kGpuOom);
  EXPECT_EQ(result.failed_rank, 1);
  EXPECT_EQ(result.message, "out of memory (rank 1)");
}

TEST_F(RunTrial, TellsDeathsApart) {
  const struct {
    const char* body;
    Outcome outcome;
    const char* message;
  } cases[] = {
      {"train(5); sys.exit(3)", Outcome::kCrash, "exit status 3"},
      {"train(5); sys.exit(2)", Outcome::kCrash, "exit status 2"},
      {"train(5); os.abort()", Outcome::kCrash, "signal 6"},
      {"os.kill(os.getpid(), signal.SIGKILL)", Outcome::kHostOom, "killed (SIGKILL)"},
      {"os.kill(os.getpid(), signal.SIGBUS)", Outcome::kShmFull, "/dev/shm"},
      {"import argparse; argparse.ArgumentParser().parse_args(['--x'])", Outcome::kInvalid, ""},
      {"train(2)", Outcome::kInvalid, "too few"},
      {"pass", Outcome::kInvalid, "--metric"},
      {"raise RuntimeError('boom')", Outcome::kCrash, "RuntimeError: boom"},
      {"open(os.environ['REDLINE_TRIAL'], 'w').write('garbage\\n{\"type\":1}\\n'); train(20)",
       Outcome::kOk, ""},
  };
  for (const auto& c : cases) {
    const TrialResult result = python(c.body);
    EXPECT_EQ(to_string(result.outcome), std::string(to_string(c.outcome))) << c.body;
    EXPECT_THAT(result.message, HasSubstr(c.message));
  }
  EXPECT_EQ(python("train(5); sys.exit(3)").steps, 5);
}

TEST_F(RunTrial, ADataLimitIsARealOutOfMemory) {
  spec_.memory_limit_bytes = uint64_t{256} << 20;
  const TrialResult result = python("x = bytearray(1 << 30)");
  EXPECT_EQ(result.outcome, Outcome::kHostOom) << result.message;
}

TEST_F(RunTrial, WhatIsExpectedNotToFitIsNotStarted) {
  spec_.expected_use = HostUse{.memory_bytes = uint64_t{1} << 60, .shm_bytes = 0};
  const TrialResult result = python("open(os.environ['REDLINE_TRIAL'] + '.ran', 'w'); train(20)");
  EXPECT_EQ(result.outcome, Outcome::kHostOom);
  EXPECT_TRUE(result.not_started);
  EXPECT_THAT(result.message, HasSubstr("not started: needs 1048576.0 TiB of host memory"));
  EXPECT_TRUE(fs::is_empty(spec_.directory));
  spec_.expected_use = HostUse{.memory_bytes = 1, .shm_bytes = 1};
  EXPECT_EQ(python("train(20)").outcome, Outcome::kOk);
}

TEST_F(RunTrial, WithoutEnergyASearchForItRunsItOnceMore) {
  spec_.objective = Objective::kSamplesPerJoule;
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const TrialResult result = python("train(20)");
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(result.outcome, Outcome::kCrash);
  EXPECT_EQ(result.message, "NVML gave no energy for the measured steps");
  EXPECT_FALSE(result.throughput);
}

TEST_F(RunTrial, TheReadingIsOnTheScaleOfTheLimit) {
  const TrialResult result = python("x = bytearray(300 << 20); train(1000000)");
  ASSERT_TRUE(result.peak_memory_bytes);
  const uint64_t peak = *result.peak_memory_bytes;
  EXPECT_GT(peak, uint64_t{300} << 20);
  spec_.memory_limit_bytes = peak + (uint64_t{4} << 20);
  EXPECT_EQ(python("x = bytearray(300 << 20); train(1000000)").outcome, Outcome::kOk);
  spec_.memory_limit_bytes = peak - (uint64_t{32} << 20);
  EXPECT_EQ(python("x = bytearray(300 << 20); train(1000000)").outcome, Outcome::kHostOom);
}

TEST_F(RunTrial, ASilentTrainingEndsAtTheTimeout) {
  spec_.timeout = std::chrono::milliseconds(500);
  // A rank that is ended may blame whatever it was at.
  const TrialResult result = python(R"(
def blame(*_):
    say(type="failure", rank=0, kind="gpu_oom", error="torch.OutOfMemoryError", message="")
    sys.exit(1)
signal.signal(signal.SIGTERM, blame)
time.sleep(1000))");
  EXPECT_EQ(result.outcome, Outcome::kHang);
  EXPECT_EQ(result.failed_rank, -1);
  EXPECT_EQ(result.start_up.count(), 0) << "no step ended it";
  EXPECT_EQ(result.message,
            "no step within 0.5 s. If the command only needs so long to start, give a longer "
            "--trial-timeout");
}

TEST_F(RunTrial, WhatRunsWithoutAStepIsNamedWithWhatToGive) {
  spec_.timeout = std::chrono::milliseconds(1);
  spec_.start_timeout = std::chrono::minutes(1);
  const std::string body = "say(type='activity', rank=0, forwards=120, backwards=0)\n";
  const std::string said =
      "120 forward passes with gradients, no backward passes and no optimizer step: what a step is "
      "cannot be seen. Give --step-marker NAME with a range that the script opens in each step, or "
      "--metric with what the command prints";
  const TrialResult ended = python(body);
  EXPECT_EQ(ended.outcome, Outcome::kInvalid);
  EXPECT_EQ(ended.message, said);
  const TrialResult slow = python(body + "say(type='begin', rank=0); time.sleep(1000)");
  EXPECT_EQ(slow.outcome, Outcome::kInvalid);
  EXPECT_EQ(slow.message,
            said + ". If a step takes longer than 0.0 s, give a longer --trial-timeout");
  spec_.step_marker = "my step";
  EXPECT_THAT(python(body).message, HasSubstr("no two ranges or marks named 'my step' were seen"));
}

TEST_F(RunTrial, TheTimeoutCountsFromTheHooksReport) {
  spec_.timeout = std::chrono::milliseconds(1);
  spec_.start_timeout = std::chrono::hours(1);
  // Importing torch takes longer than the timeout; after that the trial hangs.
  const TrialResult late = python("time.sleep(0.3); say(type='begin', rank=0); time.sleep(1000)");
  EXPECT_EQ(late.outcome, Outcome::kHang);
  EXPECT_THAT(late.message, HasSubstr("no step within 0.0 s"));
  EXPECT_GT(late.wall, std::chrono::milliseconds(300));
  spec_.start_timeout = std::chrono::milliseconds(200);
  EXPECT_THAT(python("time.sleep(1000)").message, HasSubstr("torch was not imported within 0.2 s"));
}

TEST_F(RunTrial, WhereItHungIsAmongItsLastWords) {
  spec_.timeout = std::chrono::milliseconds(1);
  spec_.start_timeout = std::chrono::minutes(1);
  const std::string body = R"(
with open(os.environ["REDLINE_TRIAL_DIRECTORY"] + "/stacks/stacks.rank 0, pid 1", "w") as file:
    file.write("Current thread 0x1 (most recent call first):\n  File here\n")
print("a word", file=sys.stderr, flush=True)
)";
  EXPECT_EQ(python(body + "say(type='begin', rank=0); time.sleep(1000)").stderr_tail,
            "a word\nrank 0, pid 1 was here, innermost call first:\n  File here\n");
  EXPECT_EQ(python(body + "sys.exit(3)").stderr_tail, "a word");
}

TEST_F(RunTrial, WhatTheRanksToldIsInTheResult) {
  spec_.global_batch = 64;
  spec_.measure_for = std::chrono::hours(1);  // so the ranks have told all when it ends
  const std::string body = R"(
begin = time.monotonic_ns()
for rank in range(2):
    for step in range(1, 44):
        say(type="step", rank=rank, world=2, t=begin + step * 10000000, steps=step, samples=step * 32,
            memory=900 + rank, resting=40 + rank, capacity=1000, wait=step * 1000000, epoch=500,
            tokens=step * 320)
say(type="seen", rank=0, knobs={"batch_size": 32})
say(type="unused", rank=0, knobs=["amp"], why="no model")
say(type="unused", rank=0, knobs=["num_workers"], why="a stream", above=1)
say(type="compile", rank=0, running=False, total=77)
say(type="note", rank=1, text="a note")
with open(os.environ["REDLINE_TRIAL"], "w") as channel: channel.write("no report\n")
time.sleep(0.02)  # its first step is 10 ms after its begin
)";
  const TrialResult result = python(body);
  ASSERT_EQ(result.outcome, Outcome::kOk) << result.message;
  EXPECT_EQ(result.message, "");
  EXPECT_NEAR(result.throughput->samples_per_s, 6400, 1e-6);
  EXPECT_GE(result.steps, 20);
  EXPECT_LE(result.steps, 40) << "those that the rate covers";
  EXPECT_EQ(result.ranks, 2);
  EXPECT_EQ(result.readers, 2);
  EXPECT_EQ(result.step_samples, 64);
  EXPECT_EQ(result.peak_memory_bytes, 901U);
  EXPECT_EQ(result.fullest_gpu, "rank 1, the fullest");
  EXPECT_EQ(result.resting_memory_bytes, 41U);
  EXPECT_EQ(result.memory_capacity_bytes, 1000U);
  EXPECT_NEAR(result.data_wait_share.value_or(0), 0.1, 1e-9);
  EXPECT_NEAR(result.tokens_per_sample.value_or(0), 10, 1e-9);
  EXPECT_EQ(result.epoch_samples, 1000);
  EXPECT_EQ(result.observed, (Config{{"batch_size", "32"}}));
  EXPECT_EQ(result.unused, (Config{{"amp", "no model"}}));
  EXPECT_EQ(result.limits.at("num_workers").most, 1);
  EXPECT_EQ(result.compile_time.count(), 77);
  EXPECT_EQ(result.notes, (std::vector<std::string>{
                              "a note", "reports of the ranks that were not understood: 1"}));
  EXPECT_FALSE(result.infers || result.latency || result.is_certain || result.not_started);
  EXPECT_EQ(result.failed_rank, -1);
  EXPECT_EQ(result.stderr_tail, "");
  EXPECT_GT(result.start_up.count(), 0);
  EXPECT_LT(result.start_up, result.wall);
  spec_.global_batch = 65;
  const TrialResult wrong = python(body);
  EXPECT_EQ(wrong.outcome, Outcome::kInvalid);
  EXPECT_EQ(wrong.message, "a step took 64 samples over 2 ranks, not the 65 of --global-batch");
  EXPECT_FALSE(wrong.throughput);
}

TEST_F(RunTrial, CompilationIsNoHangUntilItsOwnLimit) {
  spec_.timeout = std::chrono::milliseconds(1);
  spec_.start_timeout = std::chrono::minutes(1);
  spec_.compile_timeout = std::chrono::minutes(10);
  const char* body =
      "say(type='compile', rank=0, running=True, total=0); say(type='begin', rank=0)\n";
  EXPECT_EQ(python(std::string(body) + "time.sleep(0.3); train(20)").outcome, Outcome::kOk);
  spec_.compile_timeout = std::chrono::milliseconds(300);
  const TrialResult endless = python(std::string(body) + "time.sleep(1000)");
  EXPECT_EQ(endless.outcome, Outcome::kHang);
  EXPECT_EQ(endless.message, "no result within 0.0 s and 0.3 s of compilation");
}

TEST_F(RunTrial, CancelEndsItAtOnce) {
  spec_.measure_for = std::chrono::hours(1);
  const TrialResult result = python("train(1000000)", [this](const TrialProgress& progress) {
    if (progress.steps > 0) stop_ = StopRequest::kEnd;
  });
  EXPECT_EQ(result.outcome, Outcome::kCancelled);
  EXPECT_EQ(result.message, "cancelled");
  EXPECT_EQ(result.failed_rank, -1);
}

TEST_F(RunTrial, ItsLastWordsAreTwentyLines) {
  const TrialResult result = python(R"(
print(*range(30), sep="\n", file=sys.stderr)
sys.exit(3))");
  EXPECT_THAT(result.stderr_tail, ::testing::StartsWith("10\n11\n"));
  EXPECT_THAT(result.stderr_tail, HasSubstr("\n29"));
}

TEST_F(RunTrial, TakesTheLastMetricOnStdout) {
  spec_.metric_regex = "([0-9.]+) img/s";
  spec_.memory_metric_regex = "peak ([0-9]+)";
  const TrialResult result = python("print('1.5 img/s'); print('2.5 img/s'); print('peak 77')");
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message;
  EXPECT_DOUBLE_EQ(result.throughput->samples_per_s, 2.5);
  EXPECT_EQ(result.ranks, 0) << "none reported";
  EXPECT_EQ(result.peak_memory_bytes, 77U);
  EXPECT_TRUE(result.unused.contains("batch_size")) << "no torch, so the hook set nothing";
  EXPECT_EQ(python("pass").message, "the command ended and no line on stdout matches --metric");
  const TrialResult part = python("print('1,350 img/s')");
  EXPECT_THAT(part.message,
              ::testing::StartsWith("the command ended and --metric takes '350' of '1,350'. Let"));
  EXPECT_EQ(part.failed_rank, -1);
  ASSERT_EQ(part.notes.size(), 1) << "the table cuts the message";
  EXPECT_THAT(part.notes[0], ::testing::StartsWith("--metric takes '350' of '1,350'. Let"));
  EXPECT_EQ(python("print('nan img/s')").outcome, Outcome::kInvalid);
  const TrialResult nothing = python("print('0.00 img/s')");
  EXPECT_EQ(nothing.outcome, Outcome::kInvalid);
  EXPECT_EQ(nothing.failed_rank, -1);
  EXPECT_EQ(nothing.message,
            "the metric is 0: it must be a finite number above 0, and more must be better");
  unsetenv("PYTHONUNBUFFERED");  // some set it for all of their programs
  EXPECT_EQ(python("print('8 img/s'); os._exit(0)").throughput->samples_per_s, 8)
      << "a line is written at once, before a process can be killed";
  EXPECT_EQ(python("train(200); print('7 img/s')").throughput->samples_per_s, 7)
      << "its steps do not end it";
}

TEST_F(RunTrial, ACommandThatCannotStartIsInvalid) {
  spec_.command = {"/no/such/program"};
  const TrialResult result = run_trial(spec_, stop_, {});
  EXPECT_EQ(result.outcome, Outcome::kInvalid);
  EXPECT_THAT(result.message, HasSubstr("No such file"));
  EXPECT_GT(result.wall.count(), 0);
}

TEST_F(RunTrial, AKilledRunnerLeavesNothingBehind) {
  spec_.command = {"python3", "-c", std::string(kPrelude) + R"(
open(folder + "/hidden.new", "w").write(str(os.getpid()))
os.rename(folder + "/hidden.new", folder + "/hidden")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(1000))"};
  // This process becomes the subreaper of what the runner leaves behind, so that it sees the end of
  // each process.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
  const pid_t runner = fork();
  if (runner == 0) {
    (void)run_trial(spec_, stop_, {});
    _exit(0);
  }
  while (!fs::exists(spec_.directory + "/hidden")) std::this_thread::yield();
  kill(runner, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0) continue;
  EXPECT_TRUE(gone("hidden"));
}

TEST_F(RunTrial, ARunnerKilledWhileItStartsTheCommandLeavesNothingBehind) {
  spec_.command = {"sleep", "1000"};
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
  for (int moment = 0; moment < 100; ++moment) {
    const pid_t runner = fork();
    if (runner == 0) {
      setpgid(0, 0);
      (void)run_trial(spec_, stop_, {});
      _exit(0);
    }
    setpgid(runner, runner);
    std::this_thread::sleep_for(std::chrono::microseconds(100 * moment));
    kill(-runner, SIGKILL);                        // its group, as a shell's kill %1 does
    while (waitpid(-1, nullptr, 0) > 0) continue;  // for ever, if the command is left
  }
}

}  // namespace
}  // namespace redline::tuner
