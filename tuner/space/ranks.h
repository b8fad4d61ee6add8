// How many ranks a command will start, as far as its words tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace redline::tuner {

/// torchrun, python -m torch.distributed.run, mpirun, mpiexec, srun and accelerate launch with
/// their counts of processes and nodes; a plain Python script is one rank. Nothing for other
/// commands, and where the count is a word that only the launcher understands. `gpus`: what "gpu"
/// and "auto" mean.
[[nodiscard]] std::optional<int> ranks_of(const std::vector<std::string>& command, int gpus);

}  // namespace redline::tuner
