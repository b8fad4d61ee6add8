// Which process of a distributed job this is, by what its launcher has put into the environment.
#pragma once

#include <cstdint>
#include <optional>

namespace redline::profiler {

struct JobRank {
  int64_t rank = 0;
  int64_t world_size = 1;
};

/// torchrun's variables first, then those of Open MPI, Slurm, and PMI (MPICH, Intel MPI): of the
/// first that tells both; none where none does.
[[nodiscard]] std::optional<JobRank> job_rank();

}  // namespace redline::profiler
