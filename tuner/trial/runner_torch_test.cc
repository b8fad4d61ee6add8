// Tests run_trial() with real PyTorch jobs under torchrun. Skipped if the repository has no .venv.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "tests/paths.h"
#include "tests/temporary_folder.h"
#include "tuner/trial/trial.h"
#include "tuner/trial/trial_files.h"
#include "tuner/trial/trial_start.h"

namespace redline::tuner {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class TorchTrial : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(source_ + "/.venv/bin/torchrun")) {
      GTEST_SKIP() << "no .venv with torch: run ./scripts/setup";
    }
    setenv("OMP_NUM_THREADS", "1", 1);
    command_ = from_venv(
        "torchrun",
        {"--nproc_per_node", "2", source_ + "/samples/python/train_cifar.py", "--steps", "100000"});
  }

  [[nodiscard]] std::vector<std::string> from_venv(const std::string& program,
                                                   std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), source_ + "/.venv/bin/" + program);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    // A Python that is not built for the sanitizer ends when it loads a library that is.
    const std::string libraries = source_ + "/build/release/lib/";
    arguments.insert(arguments.begin(),
                     {"env", "REDLINE_LIBRARY=" + libraries + "libredline.so",
                      "REDLINE_TORCH_LIBRARY=" + libraries + "libredline_torch.so"});
#endif
    return arguments;
  }

  [[nodiscard]] TrialSpec spec(const std::string& name, Config config) const {
    TrialSpec spec;
    spec.config = std::move(config);
    spec.command = command_;
    spec.directory = folder_ / name;
    spec.measure_for = std::chrono::seconds(1);
    spec.min_steps = 4;
    spec.timeout = std::chrono::seconds(110);
    return spec;
  }

  static TrialResult run(const TrialSpec& spec) {
    const std::atomic<StopRequest> stop = StopRequest::kNone;
    const TrialResult result = run_trial(spec, stop, {});
    fs::remove_all(spec.directory);
    return result;
  }

  const std::string source_ = redline::testing::source_dir();
  const testing::TemporaryFolder folder_;
  std::vector<std::string> command_;
};

TEST_F(TorchTrial, TwoTrialsSideBySideAreMeasuredAndLeaveNothing) {
  // Two trials side by side would meet in torchrun's default port if each did not have its own.
  TrialResult left;
  std::thread other([&] { left = run(spec("left", {{"num_workers", "1"}})); });
  const TrialResult right = run(spec("right", {{"batch_size", "8"}, {"amp", "bf16"}}));
  other.join();
  for (const TrialResult* result : {&std::as_const(left), &right}) {
    ASSERT_EQ(result->outcome, Outcome::kOk) << result->message << "\n" << result->stderr_tail;
    EXPECT_EQ(result->ranks, 2);
    EXPECT_GT(result->throughput->samples_per_s, 0);
    EXPECT_GT(result->peak_memory_bytes.value_or(0), uint64_t{100} << 20);
    // What runs beside it may change its rate.
    EXPECT_THAT(result->notes, ::testing::Each(::testing::StartsWith("its rate became ")));
  }
  EXPECT_EQ(left.observed.at("num_workers"), "1");
  EXPECT_EQ(left.observed.at("batch_size"), "32");
  EXPECT_EQ(right.observed.at("amp"), "bf16");
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "children were left";
}

TEST_F(TorchTrial, ABatchBeyondTheLimitRunsOutOfMemoryAndTheReadingSaysSo) {
  const TrialResult small = run(spec("small", {{"batch_size", "8"}}));
  ASSERT_EQ(small.outcome, Outcome::kOk) << small.message << "\n" << small.stderr_tail;
  TrialSpec large = spec("large", {{"batch_size", "2048"}});
  large.memory_limit_bytes = *small.peak_memory_bytes + (uint64_t{256} << 20);
  const TrialResult result = run(large);
  EXPECT_EQ(result.outcome, Outcome::kHostOom) << result.message << "\n" << result.stderr_tail;
  EXPECT_GE(result.failed_rank, 0);
  EXPECT_THAT(result.message, HasSubstr("out of host memory (rank"));
}

TEST_F(TorchTrial, AHangingRankTellsWhereItIsStuck) {
  const std::string folder = folder_ / "stuck";
  fs::create_directories(folder + "/stacks");
  const std::string body =
      "import threading, torch\n"
      "def waits_for_a_peer():\n"
      "  print('ready', flush=True)\n"
      "  threading.Event().wait()\n"
      "waits_for_a_peer()\n";
  launch::TrackedOptions options;
  options.argv = from_venv("python", {"-c", body});
  options.environment = trial_environment({}, {folder}, "stuck", {}).strings();
  options.environment.emplace_back("RANK=1");
  options.environment.emplace_back("WORLD_SIZE=2");
  options.stdout_path = folder + "/stdout";
  options.stderr_path = folder + "/stderr";
  const auto pid = launch::start_tracked(options);
  ASSERT_TRUE(pid) << pid.error();
  while (fs::file_size(options.stdout_path) == 0 && waitpid(*pid, nullptr, WNOHANG) == 0) {
    std::this_thread::yield();
  }
  std::string stacks;
  while (stacks.empty()) stacks = hang_stacks({*pid}, folder + "/stacks");  // it may answer late
  kill(*pid, SIGKILL);
  waitpid(*pid, nullptr, 0);
  EXPECT_THAT(stacks,
              HasSubstr(fmt::format("rank 1, pid {} was here, innermost call first", *pid)));
  EXPECT_THAT(stacks, HasSubstr("in waits_for_a_peer"));
}

TEST_F(TorchTrial, AHangIsExplainedHoweverLongTheStudysPathIs) {
  TrialSpec hanging = spec(std::string(80, 'x'), {});
  hanging.command = from_venv("python", {"-c",
                                         "import threading, torch\n"
                                         "def stuck_here(): threading.Event().wait()\n"
                                         "stuck_here()\n"});
  hanging.start_timeout = hanging.timeout;
  hanging.timeout = std::chrono::seconds(3);  // from the hook's first report on
  TrialResult result;
  // On a busy machine the trial may end within the import, or before the rank has told its stack.
  for (int i = 0; i < 5 && result.stderr_tail.find("in stuck_here") == std::string::npos; ++i) {
    result = run(hanging);
    EXPECT_EQ(result.outcome, Outcome::kHang) << result.message;
  }
  EXPECT_THAT(result.stderr_tail, HasSubstr("in stuck_here"));
}

TEST_F(TorchTrial, ARankThatIsKilledIsNamedThoughTorchrunEndsTheOthers) {
  const std::string script = folder_ / "killed.py";
  std::ofstream(script) << "import os, signal, time\n"
                           "if os.environ['RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n"
                           "time.sleep(1000)\n";
  command_ = from_venv("torchrun", {"--nproc_per_node", "2", script});
  const TrialResult result = run(spec("killed", {}));
  EXPECT_EQ(result.outcome, Outcome::kHostOom) << result.message << "\n" << result.stderr_tail;
  EXPECT_EQ(result.failed_rank, 1);
}

}  // namespace
}  // namespace redline::tuner
