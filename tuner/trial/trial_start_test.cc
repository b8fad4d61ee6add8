#include "tuner/trial/trial_start.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/file.h"
#include "machine/launch/process_tree.h"
#include "tests/temporary_folder.h"
#include "tests/variables.h"
#include "tuner/trial/trial_resources.h"

namespace redline::tuner {
namespace {

TEST(TrialEnvironment, TellsTheTrialItsKnobsAndPlaces) {
  const TrialPaths paths = {"/s/1"};
  TrialSpec spec;
  spec.config = {{"amp", "bf16"}, {"batch_size", "64"}};
  const launch::Environment least = trial_environment(spec, paths, "mark", {"amp"});
  EXPECT_EQ(least.get("REDLINE_KNOBS"), R"({"batch_size":64})") << "the command has amp";
  for (const char* name : {"REDLINE_BATCH_SIZE", "REDLINE_MEMORY_LIMIT", "REDLINE_STEP_MARKER",
                           "REDLINE_METRIC", "REDLINE_OBJECTIVE"}) {
    EXPECT_FALSE(least.get(name)) << name;
  }
  spec.memory_limit_bytes = 77;
  spec.step_marker = "my step";
  spec.metric_regex = "loss (.*)";
  spec.objective = Objective::kStepsPerSecond;
  const launch::Environment told = trial_environment(spec, paths, "mark", {"batch_size"});
  EXPECT_EQ(told.get("REDLINE_KNOBS"), R"({"amp":"bf16"})");
  EXPECT_EQ(told.get("REDLINE_BATCH_SIZE"), "64");
  EXPECT_EQ(told.get("REDLINE_TRIAL"), "/s/1/reports");
  EXPECT_EQ(told.get("REDLINE_TRIAL_DIRECTORY"), "/s/1");
  EXPECT_EQ(told.get("TMPDIR"), "/s/1/tmp");
  EXPECT_EQ(told.get("REDLINE_LOG"), "/s/1");
  EXPECT_EQ(told.get(launch::kMarkVariable), "mark");
  EXPECT_EQ(told.get("REDLINE_MEMORY_LIMIT"), "77");
  EXPECT_EQ(told.get("REDLINE_STEP_MARKER"), "my step");
  EXPECT_EQ(told.get("REDLINE_METRIC"), "1");
  EXPECT_EQ(told.get("REDLINE_OBJECTIVE"), "steps");
  EXPECT_TRUE(told.get("NVTX_INJECTION64_PATH"));
  setenv("REDLINE_TRIAL_PROGRAM", "None /other.py", 1);
  EXPECT_FALSE(trial_environment(spec, paths, "mark", {}).get("REDLINE_TRIAL_PROGRAM"));
  unsetenv("REDLINE_TRIAL_PROGRAM");
  EXPECT_EQ(told.get("MASTER_PORT"), told.get("PET_MASTER_PORT"));
}

TEST(TrialEnvironment, NobodyElseGetsThePortOfATrial) {
  const int first_of_kernel =
      std::atoi(read_file("/proc/sys/net/ipv4/ip_local_port_range").c_str());
  if (first_of_kernel < 11'000) GTEST_SKIP() << "the kernel gives all ports away";
  std::set<std::string> ports;
  for (int trial = 0; trial < 10; ++trial) {
    const launch::Environment told = trial_environment({}, {"/s/1"}, "mark", {});
    const std::string port = told.get("MASTER_PORT").value_or("");
    EXPECT_TRUE(ports.insert(port).second) << port;
    EXPECT_GE(std::stoi(port), 10'000);
    EXPECT_LT(std::stoi(port), first_of_kernel);
  }
}

TEST(TrialEnvironment, AShareGivesGpusAndThreads) {
  const auto threads = [](const Share& share, int ranks, const char* own) {
    launch::Environment variables;
    if (own) variables.set("OMP_NUM_THREADS", own);
    restrict_to(share, ranks, variables);
    return variables.get("OMP_NUM_THREADS").value_or("none");
  };
  EXPECT_EQ(threads({.gpus = {}, .cores = {4, 5, 6}}, 1, nullptr), "3");
  EXPECT_EQ(threads({.gpus = {}, .cores = {4, 5, 6}}, 1, "7"), "7");
  EXPECT_EQ(threads({.gpus = {}, .cores = {4, 5, 6}}, 2, nullptr), "none");
  EXPECT_EQ(threads({}, 1, nullptr), "none");
  launch::Environment variables;
  restrict_to({}, 1, variables);
  EXPECT_FALSE(variables.get("CUDA_VISIBLE_DEVICES"));
  restrict_to({.gpus = {"2", "GPU-a"}, .cores = {}}, 1, variables);
  EXPECT_EQ(variables.get("CUDA_VISIBLE_DEVICES"), "2,GPU-a");
  EXPECT_EQ(sees_gpu(variables), std::filesystem::exists("/dev/nvidiactl"));
  for (const char* hidden : {"", "-1"}) {
    variables.set("CUDA_VISIBLE_DEVICES", hidden);
    EXPECT_FALSE(sees_gpu(variables));
  }
}

TEST(TrialStart, IsTheCommandWithItsValuesAndLimits) {
  testing::Variables variables("CUDA_VISIBLE_DEVICES", "");
  variables.set("OMP_NUM_THREADS", std::nullopt);
  TrialSpec spec;
  spec.command = {"train", "--bs={batch_size}", "{lr}"};
  spec.config = {{"batch_size", "64"}, {"lr", "3"}, {"amp", "bf16"}};
  spec.memory_limit_bytes = 1000;
  spec.share.cores = {0};
  const auto prepared = [&](const std::optional<launch::RecordNotes>& notes) {
    return *prepare_start(spec, {"/s/1"}, "m", std::nullopt, notes);
  };
  const TrialStart start = prepared(std::nullopt);
  EXPECT_EQ(start.options.argv, (std::vector<std::string>{"train", "--bs=64", "3"}));
  EXPECT_EQ(start.options.stdout_path, "/s/1/stdout");
  EXPECT_EQ(start.options.stderr_path, "/s/1/stderr");
  EXPECT_EQ(start.options.data_limit_bytes, 1000U);
  EXPECT_EQ(start.options.cores, std::vector<int>{0});
  EXPECT_EQ(start.options.mark, "m");
  EXPECT_EQ(start.options.environment, start.variables.strings());
  EXPECT_EQ(start.variables.get("REDLINE_KNOBS"), R"({"amp":"bf16"})");
  EXPECT_FALSE(start.variables.get("REDLINE_NOTES"));
  EXPECT_FALSE(start.variables.get("REDLINE_METRIC"));
  EXPECT_EQ(start.variables.get("OMP_NUM_THREADS"), "1") << "as many as cores";
  spec.command = {"torchrun", "--nproc_per_node", "gpu", "train.py"};
  spec.share.gpus = {"0"};
  EXPECT_EQ(prepared(std::nullopt).variables.get("OMP_NUM_THREADS"), "1") << "one rank";
  spec.share.gpus = {"0", "1"};
  EXPECT_FALSE(prepared(std::nullopt).variables.get("OMP_NUM_THREADS"));
  spec.share.gpus.clear();
  spec.config["ranks"] = "1";
  spec.command[2] = "{ranks}";
  EXPECT_EQ(prepared(std::nullopt).variables.get("OMP_NUM_THREADS"), "1");
  for (const char* several : {"2", "auto"}) {
    spec.command[2] = several;
    EXPECT_FALSE(prepared(std::nullopt).variables.get("OMP_NUM_THREADS")) << several;
  }
  spec.command = {"accelerate", "launch", "train.py"};
  EXPECT_FALSE(prepared(std::nullopt).variables.get("OMP_NUM_THREADS")) << "its file tells";
  spec.metric_regex = "rate (.*)";
  EXPECT_EQ(prepared(std::nullopt).variables.get("REDLINE_METRIC"), "1");
  const testing::TemporaryFolder folder;
  spec.record_to = folder.path();
  spec.step_marker = "my step";
  std::optional<launch::RecordNotes> notes;
  notes.emplace(folder.path());
  const TrialStart recorded = prepared(notes);
  EXPECT_EQ(recorded.options.data_limit_bytes, 1000 + (uint64_t{512} << 20))
      << "with room to record";
  EXPECT_EQ(recorded.variables.get("REDLINE_NOTES"), notes->path());
  const auto request = nlohmann::json::parse(recorded.variables.get("REDLINE_RECORD").value_or(""));
  EXPECT_EQ(request.at("directory"), folder.path());
  EXPECT_EQ(request.at("step_marker"), "my step");
  EXPECT_EQ(request.at("schedule").dump(),
            R"({"active":5,"repeat":1,"skip_first":0,"wait":2,"warmup":1})");
  spec.memory_limit_bytes.reset();
  EXPECT_FALSE(prepared(notes).options.data_limit_bytes);
}

TEST(TrialResources, OfOtherMachinesAreNotLookedAt) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const TrialResources resources(TrialSpec{}, launch::Environment::current());
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(resources.disturbance({}), "");
  EXPECT_TRUE(resources.host_use());
  TrialSpec elsewhere;
  elsewhere.slurm = true;
  EXPECT_FALSE(TrialResources(elsewhere, launch::Environment()).host_use());
}

}  // namespace
}  // namespace redline::tuner
