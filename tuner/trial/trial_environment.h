// The environment of a trial's processes: knobs, where to report, and what keeps trials apart.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "machine/launch/environment.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

struct TrialEnvironment {
  const Config& config;
  std::set<std::string> used;  ///< knobs that a placeholder in the command has set already
  std::string reports;         ///< path of the FIFO
  std::string temporary;       ///< folder for TMPDIR
  std::string directory;       ///< REDLINE_TRIAL_DIRECTORY
  std::string mark;            ///< value of REDLINE_TRIAL_ID
  std::optional<uint64_t> memory_limit_bytes;
};

/// This process's environment with placeholders filled, the start-up hook, the REDLINE_* variables
/// of a trial, a TMPDIR and a rendezvous port of its own.
[[nodiscard]] launch::Environment trial_environment(TrialEnvironment trial);

/// The GPUs of `share`, and as many OpenMP threads as it has cores, where the user set no number
/// and the command is a single rank (torchrun gives each of several one thread).
void restrict_to(const Share& share, int ranks, launch::Environment& environment);

/// Whether processes with this environment may find an NVIDIA GPU. Then device memory is what is
/// limited and read, by the hook; limiting the host's address space would break CUDA.
[[nodiscard]] bool sees_gpu(const launch::Environment& environment);

}  // namespace redline::tuner
