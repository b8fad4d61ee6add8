#include "tuner/space/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fake_machine.h"

namespace redline::tuner {
namespace {

TEST(Machine, CoresThatItsCgroupDoesNotGrantAreNotThere) {
  const testing::FakeMachine machine;
  machine.put("proc/self/cgroup", "0::/job\n");
  machine.put("sys/fs/cgroup/job/cpu.max", "50000 100000\n");
  EXPECT_EQ(detect_machine(machine.root()).cores, 1);
  EXPECT_FALSE(detect_machine(machine.root()).gpu);
}

TEST(Machine, GpusAreNamedAsTheDriverNamesThem) {
  const testing::FakeMachine machine;
  machine.put("dev/nvidiactl", "");
  for (const char* slot : {"0000:01:00.0", "0000:02:00.0"}) {
    machine.put(std::string("proc/driver/nvidia/gpus/") + slot + "/information",
                "Model: \t\t NVIDIA H200\nIRQ:   \t\t 195\n");
  }
  const Machine found = detect_machine(machine.root());
  EXPECT_EQ(found.gpus, 2);
  EXPECT_EQ(found.gpu_model, "NVIDIA H200");
  EXPECT_EQ((Machine{.gpu = true, .gpus = 2, .cores = 16, .gpu_model = "NVIDIA H200"}).text(),
            "2 GPUs (NVIDIA H200) and 16 cores");
  EXPECT_EQ((Machine{.gpu = true, .gpus = 1}).text(), "1 GPU and 1 core");
  EXPECT_EQ((Machine{.cores = 2}).text(), "2 cores");
}

TEST(Machine, AnotherOneHasOtherGpusOrOtherCores) {
  const Machine machine{.gpu = true, .gpus = 2, .cores = 16, .gpu_model = "A"};
  const auto differs = [&](auto member, const auto& value) {
    Machine other = machine;
    other.*member = value;
    EXPECT_EQ(other.differs_from(machine), machine.differs_from(other));
    return machine.differs_from(other);
  };
  EXPECT_FALSE(differs(&Machine::cores, 16));
  EXPECT_FALSE(differs(&Machine::cores, 20)) << "a cgroup's share may vary";
  EXPECT_TRUE(differs(&Machine::cores, 21));
  EXPECT_TRUE(differs(&Machine::gpus, 1));
  EXPECT_TRUE(differs(&Machine::gpu_model, "B"));
  EXPECT_FALSE(differs(&Machine::gpu_model, "")) << "not told";
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Devices kCpuDevices{.gpus = {}, .cores = {0, 1, 2, 3, 8, 9, 10}};

TEST(Shares, OneIsTheWholeMachine) {
  const auto shares = split_into_shares(kCpuDevices, 1);
  ASSERT_TRUE(shares);
  ASSERT_EQ(shares->size(), 1);
  EXPECT_TRUE(shares->front().whole());
}

TEST(Shares, CoresAreSplitEvenlyAndTheRestIsIdle) {
  const auto shares = split_into_shares(kCpuDevices, 2);
  ASSERT_TRUE(shares);
  ASSERT_EQ(shares->size(), 2);
  EXPECT_THAT((*shares)[0].cores, ElementsAre(0, 1, 2));
  EXPECT_THAT((*shares)[1].cores, ElementsAre(3, 8, 9));
  EXPECT_THAT((*shares)[1].gpus, IsEmpty());
  EXPECT_EQ((*shares)[1].text(), "cores 3,8-9");
  EXPECT_EQ(machine_of((*shares)[0], {.cores = 7}).cores, 3);
}

TEST(Shares, GpusDecideWhereThereAreAny) {
  const Devices machine{.gpus = {"GPU-a", "GPU-b", "5"}, .cores = {0, 1, 2, 3}};
  const auto shares = split_into_shares(machine, 3);
  ASSERT_TRUE(shares);
  EXPECT_THAT((*shares)[1].gpus, ElementsAre("GPU-b"));
  EXPECT_THAT((*shares)[2].cores, ElementsAre(2));
  EXPECT_EQ((*shares)[2].text(), "GPU 5, core 2");
  EXPECT_EQ(machine_of((*shares)[2], {.gpu = true, .gpus = 3, .cores = 4}).gpus, 1);
  EXPECT_THAT(split_into_shares(machine, 4).error(),
              HasSubstr("3 are visible. Give at most --parallel 3"));
}

TEST(Shares, FewerCoresThanGpusAreSharedByAll) {
  const auto shares = split_into_shares({.gpus = {"0", "1", "2"}, .cores = {0, 1}}, 3);
  ASSERT_TRUE(shares);
  EXPECT_THAT((*shares)[0].cores, IsEmpty());
}

TEST(Shares, MoreThanCoresIsRefused) {
  EXPECT_THAT(split_into_shares(kCpuDevices, 8).error(),
              HasSubstr("--parallel 8: each trial needs a core"));
}

std::optional<int> ranks(const std::string& text, int gpus = 0) {
  std::istringstream words(text);
  std::vector<std::string> command;
  for (std::string word; words >> word;) command.push_back(word);
  return ranks_of(command, gpus);
}

TEST(Ranks, OfEachLauncher) {
  EXPECT_EQ(ranks("python train.py --nproc_per_node 8"), 1);
  EXPECT_EQ(ranks("/usr/bin/python3 -u train.py"), 1);
  EXPECT_EQ(ranks("torchrun train.py"), 1);
  EXPECT_EQ(ranks("/venv/bin/torchrun --nproc_per_node 2 train.py"), 2);
  EXPECT_EQ(ranks("torchrun --nnodes=2 --nproc-per-node=8 train.py"), 16);
  EXPECT_EQ(ranks("python -m torch.distributed.run --standalone --nproc_per_node=4 t.py"), 4);
  EXPECT_EQ(ranks("python -m torch.distributed.launch --nproc_per_node 4 t.py"), 4);
  EXPECT_EQ(ranks("python -m accelerate.commands.launch --num_processes 2 t.py"), 2);
  EXPECT_EQ(ranks("torchrun --nproc_per_node gpu train.py", 8), 8);
  EXPECT_EQ(ranks("mpirun -np 4 ./train"), 4);
  EXPECT_EQ(ranks("srun --ntasks=6 ./train"), 6);
  EXPECT_EQ(ranks("accelerate launch --num_processes 2 train.py"), 2);
}

TEST(Ranks, OptionsBehindTheProgramAreItsOwn) {
  EXPECT_EQ(ranks("mpirun python train.py -n 100"), std::nullopt);
  EXPECT_EQ(ranks("mpirun --oversubscribe ./train -n 100"), std::nullopt);
  EXPECT_EQ(ranks("mpirun --hostfile=hosts ./train -n 100"), std::nullopt);
  EXPECT_EQ(ranks("mpirun --oversubscribe -np 2 ./train -n 100"), 2);
  EXPECT_EQ(ranks("mpirun --mca btl tcp,self -x PATH -np 4 ./train"), 4);
  EXPECT_EQ(ranks("srun -l --ntasks 6 ./train --ntasks 2"), 6);
  EXPECT_EQ(ranks("torchrun train.py --nproc_per_node 8"), 1);
  EXPECT_EQ(ranks("torchrun --rdzv_endpoint host:1 --nproc_per_node 8 train.py"), 8);
  EXPECT_EQ(ranks("accelerate launch --multi_gpu --num_processes 2 train.py"), 2);
  EXPECT_EQ(ranks("accelerate launch train.py --num_processes 2"), std::nullopt);
}

TEST(Ranks, UnknownWhereOnlyTheLauncherKnows) {
  EXPECT_EQ(ranks("./train"), std::nullopt);
  EXPECT_EQ(ranks("mpirun ./train"), std::nullopt);
  EXPECT_EQ(ranks("torchrun --nproc_per_node auto train.py"), std::nullopt);
  EXPECT_EQ(ranks("torchrun --nproc_per_node gpu train.py"), std::nullopt) << "no GPU here";
  EXPECT_EQ(ranks("torchrun --nnodes 1:4 --nproc_per_node 2 train.py"), std::nullopt);
  EXPECT_EQ(ranks(""), std::nullopt);
}

}  // namespace

}  // namespace redline::tuner
