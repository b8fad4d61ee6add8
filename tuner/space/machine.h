// The machine, the shares of it that trials get (--parallel), and the ranks that a command starts.
// They decide which knobs can matter and how many trials run side by side.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::tuner {

struct Machine {
  bool gpu = false;  ///< an NVIDIA GPU that CUDA_VISIBLE_DEVICES does not hide
  int gpus = 0;      ///< how many of them
  int cores = 1;     ///< cores that this process may use, by affinity and cgroup
  /// "NVIDIA H200", as the driver names them; if there are several kinds, all of them. Empty if it
  /// does not say.
  std::string gpu_model = {};

  /// "1 GPU (NVIDIA H200) and 16 cores"
  [[nodiscard]] std::string text() const;
  /// Whether trials would not take as long on the other one: another number or model of GPUs, or
  /// more than a quarter more cores, because a cgroup's share of cores may vary a little.
  [[nodiscard]] bool differs_from(const Machine& other) const;
};

/// `root` is the folder that has proc, sys and dev; "" for this machine.
[[nodiscard]] Machine detect_machine(const std::string& root = "");

/// The part of the machine that a trial may use. The default is all of it.
struct Share {
  std::vector<std::string> gpus;  ///< for CUDA_VISIBLE_DEVICES; empty: leave it unchanged
  std::vector<int> cores;         ///< affinity; empty: leave it unchanged

  [[nodiscard]] bool whole() const { return gpus.empty() && cores.empty(); }
  /// "GPU 0, 1; cores 0-3"
  [[nodiscard]] std::string text() const;
};

/// The GPUs and cores that this process may use.
struct Devices {
  std::vector<std::string> gpus;  ///< as CUDA_VISIBLE_DEVICES names them
  std::vector<int> cores;
};
[[nodiscard]] Devices detect_devices();

/// Splits the devices into `parallel` shares of the same size, each of neighbouring GPUs and cores.
/// What is left over stays idle, so that all trials have the same. A single share is the whole
/// machine. Without a GPU the cores decide how many shares there can be.
[[nodiscard]] tl::expected<std::vector<Share>, std::string> split_into_shares(
    const Devices& devices, int parallel);

/// The machine as a trial in `share` sees it.
[[nodiscard]] Machine machine_of(const Share& share, Machine machine);

/// How many ranks `command` will start. It is read from the counts of processes and nodes in the
/// words of torchrun, python -m torch.distributed.run, mpirun, mpiexec, srun and accelerate launch;
/// "gpu" and "auto" mean `gpus`. A plain Python script is one rank. nullopt for other commands, or
/// if a count is a word that only the launcher understands.
[[nodiscard]] std::optional<int> ranks_of(const std::vector<std::string>& command, int gpus);
/// Whether one of these launchers is among its words.
[[nodiscard]] bool has_launcher(const std::vector<std::string>& command);
/// Whether its first word is a Python.
[[nodiscard]] bool is_python(const std::vector<std::string>& command);

}  // namespace redline::tuner
