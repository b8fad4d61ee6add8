// --launcher slurm: a trial as a step of the Slurm job that autotune runs in, or as a job of its
// own where it runs in none.
//
// What becomes of the tasks on their nodes when srun is killed, and when, is not known here. So
// Slurm itself is told to end the step, which is found by its name, and asked until it is gone: the
// next trial needs its nodes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace redline::tuner {

/// `command` started by srun with the number of tasks that SLURM_NTASKS says, as far as it is set;
/// srun takes nodes, partition and the rest from its environment variables.
[[nodiscard]] std::vector<std::string> under_srun(const std::vector<std::string>& command);

class SlurmStep {
 public:
  /// `mark` tells trials apart, `study` (a folder of its own) studies; signs that Slurm may not
  /// like in a name are replaced.
  SlurmStep(const std::string& study, const std::string& mark);

  /// What under_srun() made, with this step's name in it.
  [[nodiscard]] std::vector<std::string> named(std::vector<std::string> command) const;

  /// SIGTERM to its tasks, SIGKILL after `grace`, until Slurm knows nothing of it any more. False
  /// where it still does after a minute.
  [[nodiscard]] bool stop(std::chrono::nanoseconds grace) const;

 private:
  std::string name_;
};

/// What the host of a search left when it crashed, and nobody could end: all steps and jobs of this
/// user that trials of `study` are named by, those that are there now: others may join its search
/// and start theirs.
struct LeftSteps {
  size_t count = 0;
  bool ended = true;  ///< false: after a minute some were still there
};
[[nodiscard]] LeftSteps end_left_steps(const std::string& study);

}  // namespace redline::tuner
