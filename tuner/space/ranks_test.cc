#include "tuner/space/ranks.h"

#include <gtest/gtest.h>

#include <sstream>

namespace redline::tuner {
namespace {

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

TEST(Ranks, UnknownWhereOnlyTheLauncherKnows) {
  EXPECT_EQ(ranks("./train"), std::nullopt);
  EXPECT_EQ(ranks("mpirun ./train"), std::nullopt);
  EXPECT_EQ(ranks("torchrun --nproc_per_node auto train.py"), std::nullopt);
  EXPECT_EQ(ranks("torchrun --nnodes 1:4 --nproc_per_node 2 train.py"), std::nullopt);
  EXPECT_EQ(ranks(""), std::nullopt);
}

}  // namespace
}  // namespace redline::tuner
