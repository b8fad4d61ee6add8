// Which process of a distributed job this is, from the variables that its launcher has set.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/integer.h"
#include "base/user_switch.h"

namespace redline {

struct JobRank {
  int64_t rank = 0;
  int64_t world_size = 1;
};

/// Of torchrun, Open MPI, Slurm, and PMI (MPICH, Intel MPI). python/redline/_rank.py has the same
/// list.
inline constexpr std::pair<const char*, const char*> kRankVariables[] = {
    {"RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},  // SLURM_NTASKS is also set outside of job steps
    {"PMI_RANK", "PMI_SIZE"},
};

/// What the first launcher that tells both numbers says; nullopt if none does. A script may say -1
/// for "alone". `variable` gives the value of a name, "" if it is not set.
template <typename Variable>
[[nodiscard]] std::optional<JobRank> launched_rank(const Variable& variable) {
  for (const auto& [rank_name, size_name] : kRankVariables) {
    const auto rank = parse_integer(variable(rank_name)), size = parse_integer(variable(size_name));
    if (rank && size && *rank >= 0 && *rank < *size) return JobRank{*rank, *size};
  }
  return std::nullopt;
}

/// The same for this process.
[[nodiscard]] inline std::optional<JobRank> launched_rank() { return launched_rank(user_variable); }

}  // namespace redline
