// How much of its machine this process may use: cores, memory and /dev/shm, as the kernel grants
// them.
//
// The figures of the whole machine mislead in a container or a Slurm job: a cgroup may grant 2 of
// 64 cores and 8 of 512 GiB, and a process that wants more is slowed down or killed. So every
// function here looks at affinity and cgroups (v2, and v1 if the controller is not in v2). A
// process is in several nested groups; the tightest of them counts. A figure that the kernel does
// not tell is absent.
//
// `root` is the folder of proc, sys and dev: "" for this machine; tests give one with files of
// theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redline::machine {

/// The cores in the affinity of this process. OpenMP may bind each of its threads to another core,
/// the first one, too (OMP_PROC_BIND), so those of all threads count.
[[nodiscard]] std::vector<int> allowed_cores();

struct Cores {
  std::vector<int> allowed;          ///< of allowed_cores()
  std::optional<double> quota;       ///< cores that the cgroup grants, such as 1.5
  [[nodiscard]] int usable() const;  ///< at least 1; a part of a core counts as one
};
[[nodiscard]] Cores cores(const std::string& root = "");

/// As the kernel has it; "localhost" if it has none.
[[nodiscard]] std::string host_name();

struct Memory {
  std::optional<int64_t> bytes;            ///< of the machine
  std::optional<int64_t> available_bytes;  ///< of the machine, without swapping
  std::optional<int64_t> limit_bytes;      ///< of the tightest cgroup
  std::optional<int64_t> left_bytes;       ///< in the fullest cgroup; page cache counts as left
  /// What this process may use: the machine's memory, or the cgroup's if that is less.
  [[nodiscard]] std::optional<int64_t> usable_bytes() const;
  [[nodiscard]] std::optional<int64_t> usable_now_bytes() const;
};
[[nodiscard]] Memory memory(const std::string& root = "");

struct SharedMemory {
  int64_t bytes = 0;
  int64_t used_bytes = 0;
  int64_t free_bytes = 0;
};
/// The size and use of /dev/shm.
[[nodiscard]] std::optional<SharedMemory> shared_memory(const std::string& root = "");

/// The folders of this process's cgroup and of the groups around it, innermost first: in v2 if
/// `controller` is "", otherwise in v1 for that controller. Empty if there is none.
[[nodiscard]] std::vector<std::string> cgroup_folders(const std::string& root,
                                                      const std::string& controller);

}  // namespace redline::machine
