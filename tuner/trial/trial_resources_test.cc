#include "tuner/trial/trial_resources.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "tests/temporary_folder.h"
#include "tests/variables.h"

namespace redline::tuner {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

launch::Environment seeing(const std::string& gpus) {
  launch::Environment variables;
  variables.set("CUDA_VISIBLE_DEVICES", gpus);
  return variables;
}

/// Keeps the first processor busy that this process may use.
class BusyProgram {
 public:
  BusyProgram() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    while (!CPU_ISSET(core_, &allowed)) ++core_;
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core_, &one);
    sched_setaffinity(0, sizeof one, &one);
    for (volatile bool goes_on = true; goes_on;) continue;
    _exit(0);
  }
  BusyProgram(const BusyProgram&) = delete;
  BusyProgram& operator=(const BusyProgram&) = delete;
  ~BusyProgram() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] int core() const { return core_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  int core_ = 0;
  pid_t pid_ = -1;
};

TEST(TrialResources, OthersThatUseItsProcessorsAreNamedOnceItHasStepped) {
  while (clock() < CLOCKS_PER_SEC / 20) continue;  // what it used before does not count
  const BusyProgram busy;
  ASSERT_GT(busy.pid(), 0);
  if (!parse_processor_time(read_file("/proc/stat"), {busy.core()})) GTEST_SKIP() << "not told";
  TrialSpec spec;
  spec.share.cores = {busy.core()};
  TrialResources starting(spec, seeing("")), with_it(spec, seeing("")), without(spec, seeing(""));
  spec.slurm = true;
  TrialResources elsewhere(spec, seeing(""));
  const std::vector<pid_t> own = {getpid()}, both = {getpid(), busy.pid()};
  // The kernel counts in hundredths of a second. What it says comes at some time, not at a certain
  // one.
  std::string said;
  for (int poll = 0; poll < 3000 && said.empty(); ++poll) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    starting.sample(own, false);
    elsewhere.sample(own, true);
    with_it.sample(both, true);
    without.sample(own, true);
    said = without.disturbance(own);
  }
  if (said.starts_with("the host gave")) GTEST_SKIP() << said;
  EXPECT_THAT(said, MatchesRegex("other programs used (0\\.[5-9]|1\\.0) of 1 processors"));
  EXPECT_EQ(starting.disturbance(own), "");
  EXPECT_EQ(elsewhere.disturbance(own), "");
  EXPECT_THAT(with_it.disturbance(both),
              AnyOf(IsEmpty(), HasSubstr("(steal)"),
                    MatchesRegex("other programs used (0\\.[0-9]|1\\.0) of 1 processors")))
      << "its own processes are no others";
}

TEST(TrialResources, WhatItsProcessesDoNotHaveWasTakenByOthers) {
  constexpr uint64_t kMebibyte = uint64_t{1} << 20;
  // Linux counts what was free lately, and is taken again, as free for a while.
  constexpr uint64_t kBlock = 512 * kMebibyte;
  const TrialResources fresh(TrialSpec{}, seeing(""));
  EXPECT_EQ(fresh.host_use()->memory_bytes, 0U);
  TrialResources resources(TrialSpec{}, seeing(""));
  const FileDescriptor file(open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_EQ(posix_fallocate(file.get(), 0, 16 * kMebibyte), 0);
  void* const block = mmap(nullptr, kBlock, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  resources.sample_slowly();
  munmap(block, kBlock);
  const auto use = resources.host_use();
  EXPECT_LE(use->memory_bytes, use->shm_bytes) << "no process of the trial was seen";
}

class OneGpu : public ::testing::Test, protected testing::Variables {
 protected:
  OneGpu() {
    set("REDLINE_STUB_USED_FILE", used_path_);
    use(703);
    resources_.emplace(TrialSpec{}, seeing("0"));
  }
  ~OneGpu() override { dlclose(stub_); }
  void use(int mib) const { std::ofstream(used_path_) << mib; }

  using Span = Measurement::Window::Span;
  [[nodiscard]] double joules(const std::vector<Span>& spans, double samples = 1) const {
    TrialResult result;
    resources_->add_energy(Measurement::Window{.spans = spans, .samples = samples, .steps = 1},
                           Objective::kSamplesPerSecond, result);
    EXPECT_FALSE(result.samples_per_joule);
    return result.joules_per_sample.value_or(0);
  }

  const testing::TemporaryFolder folder_;
  const std::string used_path_ = folder_ / "gpu_used_now";
  // Who opens libnvidia-ml.so.1 gets the stub as long as it is loaded.
  void* const stub_ = dlopen(REDLINE_STUB_NVML, RTLD_NOW | RTLD_LOCAL);
  std::optional<TrialResources> resources_;
};

TEST_F(OneGpu, TellsTheEnergyOfWhatWasMeasured) {
  resources_->sample_slowly();
  const int64_t begin = monotonic_ns();
  const int64_t end = begin + 5'000'000;
  while (monotonic_ns() < end) continue;
  resources_->sample_slowly();
  const double whole = joules({{begin, end}});
  ASSERT_GT(whole, 0);
  EXPECT_NEAR(joules({{begin, end}}, 4), whole / 4, 1e-4);
  const int64_t middle = begin + 2'000'000;
  EXPECT_NEAR(joules({{begin, middle}, {middle, end}}), whole, 1e-4);
  EXPECT_NEAR(joules({{begin, middle}}) + joules({{middle, end}}), whole, 1e-4);
  EXPECT_GT(joules({{begin, begin + 1000}}), 0) << "less than a joule";
  EXPECT_EQ(joules({}), 0);
  EXPECT_EQ(joules({{begin, end}, {end, end + 3'600'000'000'000}}), 0) << "not seen to its end";

  const Measurement::Window window{.spans = {{begin, end}}, .samples = 4, .steps = 1};
  TrialResult result;
  result.outcome = Outcome::kOk;
  result.throughput = Throughput{.samples_per_s = 100, .low = 90, .high = 110};
  resources_->add_energy(window, Objective::kSamplesPerJoule, result);
  EXPECT_EQ(result.outcome, Outcome::kOk);
  ASSERT_TRUE(result.samples_per_joule && result.joules_per_sample && result.throughput);
  const Throughput expected =
      samples_per_joule(*result.joules_per_sample, *result.throughput, 0.005);
  EXPECT_DOUBLE_EQ(result.samples_per_joule->samples_per_s, expected.samples_per_s);
  EXPECT_DOUBLE_EQ(result.samples_per_joule->high, expected.high);
}

TEST_F(OneGpu, WithoutItsEnergyATrialIsOnlyNoResultWhereThatCounts) {
  TrialResult result;
  result.outcome = Outcome::kOk;
  result.throughput = Throughput{.samples_per_s = 100, .low = 90, .high = 110};
  resources_->add_energy(std::nullopt, Objective::kSamplesPerSecond, result);
  EXPECT_EQ(result.outcome, Outcome::kOk);
  EXPECT_TRUE(result.throughput);
  resources_->add_energy(std::nullopt, Objective::kSamplesPerJoule, result);
  EXPECT_EQ(result.outcome, Outcome::kCrash);
  EXPECT_FALSE(result.throughput);
  EXPECT_EQ(result.message, "NVML gave no energy for the measured steps");
}

TEST_F(OneGpu, TellsWhatOfItsMemoryIsStillHeld) {
  const std::atomic<StopRequest> at_once{StopRequest::kKill};
  EXPECT_THAT(resources_->wait_for_gpu_memory(at_once), IsEmpty());
  use(5000);
  EXPECT_THAT(resources_->wait_for_gpu_memory(at_once),
              ElementsAre(HasSubstr("GPU 0 holds 4.2 GiB more")));
}

}  // namespace
}  // namespace redline::tuner
