// --launcher slurm: runs a trial as a step of the Slurm job that autotune runs in, or as a job of
// its own if autotune runs in none.
//
// When srun is killed, it is not known here what happens to the tasks on their nodes. So Slurm
// itself is told to end the step (found by its name), and it is asked until the step is gone,
// because the next trial needs its nodes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace redline::tuner {

/// `command` started by srun, with SLURM_NTASKS tasks if that is set. srun takes nodes, partition
/// and the rest from its environment variables.
[[nodiscard]] std::vector<std::string> under_srun(const std::vector<std::string>& command);

class SlurmStep {
 public:
  /// The step's name is made of `study` (the study's folder) and `mark` (unique among its trials).
  /// Characters that Slurm may not like in a name are replaced.
  SlurmStep(const std::string& study, const std::string& mark);

  /// What under_srun() made, with this step's name in it.
  [[nodiscard]] std::vector<std::string> named(std::vector<std::string> command) const;

  /// Sends SIGTERM to its tasks and SIGKILL after `grace`, then waits until Slurm does not know the
  /// step any more. False if it still does after a minute.
  [[nodiscard]] bool stop(std::chrono::nanoseconds grace) const;

 private:
  std::string name_;
};

/// Steps that a search left behind because its host crashed.
struct LeftSteps {
  size_t count = 0;
  bool ended = true;  ///< false: some were still there after a minute
};
/// Ends all steps and jobs of this user that are named after trials of `study` and exist now. Later
/// ones stay, because others may join the search and start theirs.
[[nodiscard]] LeftSteps end_left_steps(const std::string& study);

}  // namespace redline::tuner
