// What run_trial() notices while a trial runs, and how it ends it.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "machine/launch/environment.h"
#include "tests/variables.h"
#include "tuner/trial/testing_run_trial.h"

namespace redline::tuner {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;
namespace fs = std::filesystem;

/// Lets a rank tell that it was asked to end.
constexpr const char* kTellsOfSigterm = R"(
def end(*_):
    open(folder + "/asked", "w")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
)";

class RunTrialWatched : public PythonTrial {
 protected:
  void make(const std::string& name) const { std::ofstream(spec_.directory + "/" + name) << ""; }
  [[nodiscard]] bool exists(const std::string& name) const {
    return fs::exists(spec_.directory + "/" + name);
  }
};

TEST_F(RunTrialWatched, TheLiveLineIsToldEachPhaseButNotTooOften) {
  spec_.measure_for = std::chrono::hours(1);
  std::vector<std::string> phases;
  std::map<std::string, TrialProgress> first;
  int64_t shown = 0;
  const auto keep_first = [&](const TrialProgress& progress) {
    ++shown;
    if (first.try_emplace(progress.phase, progress).second) {
      phases.push_back(progress.phase);
    }
    make(progress.phase);
    if (progress.phase == "compiling") stop_ = StopRequest::kEnd;
  };
  const TrialResult result = python(R"(
begin = time.monotonic_ns()
def steps(first, last):
    for step in range(first, last + 1):
        say(type="step", rank=0, world=1, t=begin + step * 10**7, steps=step, samples=step * 10)
def wait_for(phase):
    while not os.path.exists(folder + "/" + phase): time.sleep(0.001)
wait_for("starting")
steps(1, 1)
wait_for("warming up")
steps(2, 12)
wait_for("measuring")
steps(13, 30)
say(type="compile", rank=0, running=True, total=0)
time.sleep(1000))",
                                    keep_first);
  EXPECT_EQ(result.outcome, Outcome::kCancelled) << result.message;
  EXPECT_THAT(phases, ElementsAre("starting", "warming up", "measuring", "compiling", "ending"));
  EXPECT_EQ(first["starting"].steps, 0);
  EXPECT_EQ(first["warming up"].steps, 1);
  EXPECT_FALSE(first["measuring"].samples_per_s) << "fewer steps than a result needs";
  EXPECT_EQ(first["ending"].steps, 30);
  EXPECT_NEAR(first["ending"].samples_per_s.value_or(0), 1000, 1e-6);
  EXPECT_LE(shown, 2 + result.wall / milliseconds(200));
}

TEST_F(RunTrialWatched, NoStepForFiveTimesAsLongAsAStepTakesIsAHang) {
  // The rank tells times long past, as parts of the time since the machine started.
  const TrialResult result = python(kTellsOfSigterm + std::string(R"(
now = time.monotonic_ns()
for step in (1, 2):
    say(type="step", rank=0, world=1, t=now - (15 - 2 * step) * now // 16, steps=step, samples=step)
time.sleep(1000))"));
  EXPECT_EQ(result.outcome, Outcome::kHang);
  ASSERT_THAT(result.message, StartsWith("no step for "));
  EXPECT_GE(std::stoi(result.message.substr(12)), 30);
  EXPECT_FALSE(exists("asked")) << "what hangs is ended at once";
}

TEST_F(RunTrialWatched, APauseMayLastUntilATimeoutThatTheUserGave) {
  const std::string pauses = R"(
now = time.monotonic_ns()
for step in (1, 2):
    say(type="step", rank=0, world=1, t=now - (15 - 2 * step) * now // 16, steps=step, samples=step)
while not os.path.exists(folder + "/seen"): time.sleep(0.001)
for step in range(3, 44):
    say(type="step", rank=0, world=1, t=now + step * 10**7, steps=step, samples=step)
time.sleep(1000))";
  const auto look = [this](const TrialProgress& progress) {
    if (progress.steps >= 2) make("seen");
  };
  EXPECT_EQ(python(pauses, look).outcome, Outcome::kHang);
  fs::remove(spec_.directory + "/seen");
  spec_.may_pause = true;
  const TrialResult result = python(pauses, look);
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message;
  spec_.timeout = milliseconds(1);
  spec_.start_timeout = std::chrono::minutes(1);
  const TrialResult hung = python(R"(
now = time.monotonic_ns()
lines = [{"type": "begin", "rank": 0}]
for step in range(1, 44):
    at = now - (15 - step // 22) * now // 16 + step * 10**6
    lines.append({"type": "step", "rank": 0, "t": at, "steps": step, "samples": step})
with open(os.environ["REDLINE_TRIAL"], "w") as channel:
    channel.write("".join(json.dumps(line) + "\n" for line in lines))
time.sleep(1000))");
  EXPECT_THAT(hung.message, StartsWith("no step for "))
      << "whatever was measured of a job that makes no more steps";
}

TEST_F(RunTrialWatched, ItIsAskedToEndUnlessTheUserAsksTwice) {
  spec_.measure_for = std::chrono::hours(1);
  const auto is_asked = [this](StopRequest request) {
    stop_ = StopRequest::kNone;
    (void)python(kTellsOfSigterm + std::string("train(1000000)"),
                 [this, request](const TrialProgress& progress) {
                   if (progress.steps > 0) stop_ = request;
                 });
    return exists("asked");
  };
  EXPECT_FALSE(is_asked(StopRequest::kKill));
  bool asked = false;
  for (int i = 0; i < 5 && !asked; ++i) asked = is_asked(StopRequest::kEnd);  // it may be too slow
  EXPECT_TRUE(asked);
}

TEST_F(RunTrialWatched, WhatARankTellsWhileItIsAskedWhereItHangsCounts) {
  spec_.timeout = milliseconds(1);
  spec_.start_timeout = std::chrono::minutes(1);
  TrialResult result;
  // On a busy machine the rank may take longer than it is waited for.
  for (int i = 0; i < 5 && result.outcome != Outcome::kGpuOom; ++i) {
    // While faulthandler writes, its signal is blocked.
    result = python(R"(
number = signal.SIGRTMIN + 13
signal.signal(number, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [number])
with open(f"{folder}/stacks/stacks.pid {os.getpid()}", "w") as stacks:
    print("Current thread 0x1 (most recent call first):\n  File one", file=stacks, flush=True)
    say(type="begin", rank=0)
    while number not in signal.sigpending(): time.sleep(0.001)
    time.sleep(0.1)
    print("  File two", file=stacks, flush=True)
say(type="failure", rank=2, kind="gpu_oom", error="torch.OutOfMemoryError", message="")
signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
time.sleep(1000))");
  }
  EXPECT_EQ(result.outcome, Outcome::kGpuOom) << result.message;
  EXPECT_EQ(result.failed_rank, 2);
  EXPECT_THAT(result.stderr_tail, StartsWith("pid "));
  EXPECT_THAT(result.stderr_tail,
              EndsWith(" was here, innermost call first:\n  File one\n  File two\n"));
}

TEST_F(RunTrialWatched, ARecordedTrialIsNotEndedBeforeItsTraceIsThere) {
  if (!launch::library_path("libredline_torch.so")) GTEST_SKIP() << "built without LibTorch";
  spec_.record_to = spec_.directory + "/traces";
  const TrialResult result = python(R"(
begin = time.monotonic_ns()
for step in range(1, 44):
    say(type="step", rank=0, world=1, t=begin + step * 10**7, steps=step, samples=step)
time.sleep(0.2)
open(folder + "/traces/a.pt.trace.json.gz", "w")
time.sleep(1000))");
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message;
  ASSERT_THAT(result.notes, ::testing::SizeIs(2));
  EXPECT_EQ(result.notes[0], "1 trace in " + spec_.record_to);
  EXPECT_EQ(result.notes[1], "next: redline report " + spec_.record_to);
}

TEST_F(RunTrialWatched, ASlowTrainingThatBecomesSlowerHasNothingToBeat) {
  spec_.measure_for = std::chrono::seconds(1500);
  const TrialResult result = python(R"(
at = time.monotonic_ns()
for step in range(1, 44):
    at += (10 if step <= 33 else 15) * 10**9
    say(type="step", rank=0, world=1, t=at, steps=step, samples=step)
time.sleep(0.2))");
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message;
  EXPECT_EQ(result.message, "") << "it was not stopped early";
  EXPECT_THAT(result.notes, ElementsAre("its rate became 20 % slower during the measurement"));
}

TEST_F(RunTrialWatched, TellsTheMostThatItTookOfTheHost) {
  if (fs::space("/dev/shm").available < uint64_t{128} << 20) {
    GTEST_SKIP() << "less than 128 MiB are free in /dev/shm";
  }
  int looks = 0;
  const auto look = [&](const TrialProgress& progress) {
    // Between the first time and the third lie 0.4 s.
    if (progress.steps > 0 && ++looks == 3) make("seen");
  };
  const TrialResult result = python(R"(
with open("/dev/shm/redline_test." + str(os.getpid()), "wb") as file:
    os.unlink(file.name)
    file.write(b"x" * (96 << 20))  # a third more, because others may free some there meanwhile
    file.flush()
    train(1)
    while not os.path.exists(folder + "/seen"): time.sleep(0.001)
train(1000000))",
                                    look);
  ASSERT_TRUE(result.host_use) << result.message;
  EXPECT_GE(result.host_use->shm_bytes, uint64_t{64} << 20);
  EXPECT_LT(result.host_use->shm_bytes, uint64_t{2} << 30) << "and not what is free";
  // It counts its own pages and the file's, whatever else runs on this machine.
  EXPECT_LT(result.host_use->memory_bytes, result.host_use->shm_bytes + (uint64_t{256} << 20));
}

TEST_F(RunTrialWatched, WhatItTookOfAGpuIsReadBeforeAndAfter) {
  // Who opens libnvidia-ml.so.1 gets the stub as long as it is loaded.
  void* const stub = dlopen(REDLINE_STUB_NVML, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(stub, nullptr) << dlerror();
  testing::Variables variables("CUDA_VISIBLE_DEVICES", "0");
  variables.set("REDLINE_STUB_USED_FILE", place_ / "used");
  std::ofstream(place_ / "used") << 703;
  spec_.measure_for = milliseconds(1);
  const TrialResult measured = python(R"(
begin = time.monotonic_ns()
while time.monotonic_ns() < begin + 30 * 10**6: time.sleep(0.001)
for step in range(1, 31):
    say(type="step", rank=0, world=1, t=begin + step * 10**6, steps=step, samples=step)
time.sleep(1000))");
  EXPECT_EQ(measured.outcome, Outcome::kOk) << measured.message;
  EXPECT_GT(measured.joules_per_sample.value_or(0), 0);
  EXPECT_THAT(measured.notes, IsEmpty());
  spec_.measure_for = std::chrono::hours(1);
  const auto kill_it = [this](const TrialProgress& progress) {
    if (progress.steps > 0) stop_ = StopRequest::kKill;
  };
  const TrialResult held = python(R"(
with open(os.environ["REDLINE_STUB_USED_FILE"], "w") as used: used.write("5000")
train(1000000))",
                                  kill_it);
  EXPECT_THAT(held.notes, ElementsAre("GPU 0 holds 4.2 GiB more than before the trial: by no "
                                      "process that is visible here"));
  dlclose(stub);
}

TEST_F(RunTrialWatched, UnderSlurmItIsAStepOfItsOwnThatIsEnded) {
  const auto program = [this](const std::string& name, const std::string& text) {
    std::ofstream(place_ / name) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(place_ / name, fs::perms::owner_all);
  };
  program("srun", "echo \"$1\"; shift; exec \"$@\"");
  program("squeue", "exit 0");
  const testing::Variables variables("PATH", place_.path() + ":" + std::getenv("PATH"));
  spec_.directory = place_ / "1";
  spec_.slurm = true;
  spec_.command = {"srun", "python3", "-c", std::string(kPrelude) + R"(
begin = time.monotonic_ns()
for step in range(1, 21):
    say(type="step", rank=0, world=1, t=begin + step * 10**7, steps=step, samples=step))"};
  const TrialResult result = run_trial(spec_, stop_, {});
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message << result.stderr_tail;
  EXPECT_THAT(file("stdout"), StartsWith("--job-name=redline."));
  EXPECT_THAT(result.notes, IsEmpty());
  EXPECT_FALSE(result.host_use) << "its ranks may be elsewhere";
  for (const char* name : {"reports", "reports.d", "stacks", "tmp"}) {
    EXPECT_FALSE(exists(name)) << name;
  }
}

}  // namespace
}  // namespace redline::tuner
