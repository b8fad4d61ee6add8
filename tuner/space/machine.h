// What decides which knobs can matter and how many trials run side by side: the machine, the shares
// of it that trials get (--parallel), and the ranks that a command starts.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::tuner {

struct Machine {
  bool gpu = false;  ///< an NVIDIA GPU that CUDA_VISIBLE_DEVICES does not hide
  int gpus = 0;      ///< how many of them
  int cores = 1;     ///< that this process may use, by affinity and cgroup
};

/// `root` is where proc, sys and dev are: "" for this machine.
[[nodiscard]] Machine detect_machine(const std::string& root = "");

/// The part of the machine that a trial may use. The default is all of it.
struct Share {
  std::vector<std::string> gpus;  ///< for CUDA_VISIBLE_DEVICES; empty: as it is
  std::vector<int> cores;         ///< affinity; empty: as it is

  [[nodiscard]] bool whole() const { return gpus.empty() && cores.empty(); }
  /// "GPU 0, 1; cores 0-3"
  [[nodiscard]] std::string text() const;
};

/// What this process may use, by name and number.
struct Devices {
  std::vector<std::string> gpus;  ///< as CUDA_VISIBLE_DEVICES names them
  std::vector<int> cores;
};
[[nodiscard]] Devices detect_devices();

/// `parallel` shares of the same size, neighbouring GPUs and cores together; what is left over
/// stays idle, so that all trials have the same. One share is the whole machine. Without a GPU the
/// cores decide how many there can be.
[[nodiscard]] tl::expected<std::vector<Share>, std::string> split_into_shares(
    const Devices& devices, int parallel);

/// The machine as a trial in `share` sees it.
[[nodiscard]] Machine machine_of(const Share& share, Machine machine);

/// How many ranks `command` will start. It is read from the words of torchrun, python -m
/// torch.distributed.run, mpirun, mpiexec, srun and accelerate launch: their counts of processes
/// and nodes, where "gpu" and "auto" mean `gpus`. A plain Python script is one rank. Nothing for
/// other commands, or where a count is a word that only the launcher understands.
[[nodiscard]] std::optional<int> ranks_of(const std::vector<std::string>& command, int gpus);

}  // namespace redline::tuner
