// What this process may use of its machine: cores, memory and /dev/shm, as the kernel grants them.
//
// The machine's own figures mislead in a container or a Slurm job: a cgroup may grant 2 of 64 cores
// and 8 of 512 GiB, and what goes beyond is slowed down or killed. So every reader here takes
// affinity and cgroups (v2, and v1 where the controller is not in v2) into account, and the
// tightest group on the way up counts. What the kernel does not tell is absent.
//
// `root` is where proc, sys and dev are: "" for this machine; tests bring a folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redline::machine {

struct Cores {
  std::vector<int> allowed;          ///< by the affinity of the calling thread
  std::optional<double> quota;       ///< cores that the cgroup grants, such as 1.5
  [[nodiscard]] int usable() const;  ///< at least 1; a part of a core counts as one
};
[[nodiscard]] Cores cores(const std::string& root = "");

struct Memory {
  std::optional<int64_t> bytes;            ///< of the machine
  std::optional<int64_t> available_bytes;  ///< of the machine, without swapping
  std::optional<int64_t> limit_bytes;      ///< of the tightest cgroup
  std::optional<int64_t> left_bytes;       ///< in the fullest cgroup; its page cache counts as left
  /// For this process: the machine's, or the cgroup's where that is less.
  [[nodiscard]] std::optional<int64_t> usable_bytes() const;
  [[nodiscard]] std::optional<int64_t> usable_now_bytes() const;
};
[[nodiscard]] Memory memory(const std::string& root = "");

struct SharedMemory {
  int64_t bytes = 0;
  int64_t used_bytes = 0;
  int64_t free_bytes = 0;
};
/// Of /dev/shm.
[[nodiscard]] std::optional<SharedMemory> shared_memory(const std::string& root = "");

/// The folders of this process's cgroup and of those around it, innermost first: of v2 where
/// `controller` is "", else of that controller of v1. Empty where there is none.
[[nodiscard]] std::vector<std::string> cgroup_folders(const std::string& root,
                                                      const std::string& controller);

}  // namespace redline::machine
