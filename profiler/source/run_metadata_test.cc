#include "profiler/source/run_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "machine/shown_environment.h"
#include "tests/fake_machine.h"
#include "tests/paths.h"

namespace redline::profiler {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class RunMetadata : public ::testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) const { machine_.put(file, text); }
  [[nodiscard]] json run(std::vector<const char*> environment = {}) const {
    environment.push_back(nullptr);
    return json::parse(run_metadata(machine_.root(), environment.data()));
  }

  const redline::testing::FakeMachine machine_;
};

TEST_F(RunMetadata, ShowsListedVariablesAndCountsTheOthers) {
  const json found = run({"RANK=3", "AWS_SECRET_ACCESS_KEY=hidden", "OMP_NUM_THREADS=", "PATH=/bin",
                          "NCCL_DEBUG=a=b \xff", "odd"});
  EXPECT_EQ(found["environment"],
            (json{{"RANK", "3"}, {"OMP_NUM_THREADS", ""}, {"NCCL_DEBUG", "a=b \uFFFD"}}));
  EXPECT_EQ(found["environment_not_shown"], 3);
  EXPECT_THAT(found.dump(), Not(HasSubstr("AWS")));
  EXPECT_THAT(found.dump(), Not(HasSubstr("hidden")));
}

TEST_F(RunMetadata, ListedVariablesWithoutTheSecretsInTheirValues) {
  const json found = run({"MASTER_ADDR=tcp://me:planted@node0", "NCCL_SOCKET_IFNAME=token=planted",
                          "PYTORCH_CUDA_ALLOC_CONF=backend:native,api_key:planted"});
  EXPECT_EQ(found["environment"],
            (json{{"MASTER_ADDR", "tcp://***@node0"},
                  {"NCCL_SOCKET_IFNAME", "token=***"},
                  {"PYTORCH_CUDA_ALLOC_CONF", "backend:native,api_key:***"}}));
}

TEST_F(RunMetadata, SaysWhetherTheProcessorComputesInBf16) {
  EXPECT_FALSE(run()["machine"].contains("bf16"));
  for (const char* listed :
       {"flags\t\t: fpu avx512_bf16 sse", "flags\t\t: fpu amx_bf16", "Features\t: fp bf16 sve"}) {
    put("/proc/cpuinfo", listed);
    EXPECT_EQ(run()["machine"]["bf16"], true) << listed;
  }
  put("/proc/cpuinfo", "flags\t\t: fpu avx512f not_bf16_at_all");
  EXPECT_EQ(run()["machine"]["bf16"], false);
}

TEST_F(RunMetadata, NamesTheLibraryOfMalloc) {
  EXPECT_EQ(run()["malloc"], "libc.so.6");
  EXPECT_EQ(run()["glibc"].get<std::string>().substr(0, 2), "2.");
}

TEST_F(RunMetadata, NamesTheRecording) {
  EXPECT_EQ(run({"REDLINE_RECORDING=17.4"})["recording"], "17.4");
  EXPECT_FALSE(run({"REDLINE_RECORDING=", "RANK=0", "WORLD_SIZE=2"}).contains("recording"))
      << "the ranks of a job have no name in common";
  EXPECT_FALSE(run({"SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=2"}).contains("recording"));
  const json own = run({"REDLINE_RECORDING="})["recording"];
  EXPECT_THAT(own.get<std::string>(), ::testing::EndsWith("." + std::to_string(getpid())));
  EXPECT_EQ(run()["recording"], own) << "all windows of a process are of one recording";
}

TEST_F(RunMetadata, TheListIsTheOneOfTheDocumentation) {
  const std::string text = read_file(redline::testing::source_dir() + "/docs/environment.md");
  for (const char* name : machine::kShownEnvironment) {
    EXPECT_THAT(text, HasSubstr("`" + std::string(name) + "`"));
  }
}

TEST_F(RunMetadata, TheCommandWithoutItsSecrets) {
  put("proc/self/cmdline", std::string("python\0train.py\0--api-key\0abc\0--lr=1\0", 37));
  EXPECT_EQ(run()["argv"], (json{"python", "train.py", "--api-key", "***", "--lr=1"}));
}

TEST_F(RunMetadata, LimitsOfBothKindsOfCgroups) {
  EXPECT_FALSE(run()["machine"].contains("cpu_limit"));
  put("proc/self/cgroup", "0::/job\n");
  put("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/job/memory.max", "1073741824\n");
  EXPECT_EQ(run()["machine"]["cpu_limit"], 1.5);
  EXPECT_EQ(run()["machine"]["memory_limit_bytes"], 1 << 30);
  put("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/job/memory.max", "max\n");
  EXPECT_FALSE(run()["machine"].contains("cpu_limit"));
  EXPECT_FALSE(run()["machine"].contains("memory_limit_bytes"));
  put("proc/self/cgroup", "4:memory:/elsewhere\n3:cpu,cpuacct:/elsewhere\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(run()["machine"]["cpu_limit"], 2.0);
  EXPECT_FALSE(run()["machine"].contains("memory_limit_bytes"));
}

TEST_F(RunMetadata, OfThisProcess) {
  const json found = json::parse(run_metadata());
  EXPECT_THAT(found["argv"][0].get<std::string>(), HasSubstr("profiler_test"));
  EXPECT_GE(found["machine"]["cores"], 1);
  EXPECT_GT(found["machine"]["memory_bytes"], 1 << 20);
}

}  // namespace
}  // namespace redline::profiler
