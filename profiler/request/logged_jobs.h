// Finds the jobs of this user on this machine whose processes log their steps, and the processes of
// one of them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace redline::launch {

struct LoggedJob {
  std::string run;     ///< the name that all its logs have
  std::string folder;  ///< of the logs, as the job names it
  /// The path by which this process reaches that folder: a container has mounts of its own.
  std::string reached_by;

  auto operator<=>(const LoggedJob&) const = default;
};

/// By the environment of the running processes. Those of other users cannot be read, so their jobs
/// are not found. Sorted, each job once.
[[nodiscard]] std::vector<LoggedJob> running_logged_jobs();

struct JobProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  std::optional<int> rank;  ///< as the launcher's variables say; children of a rank have it, too
};

/// All living processes of a run but this one: the command, its ranks and their children.
[[nodiscard]] std::vector<JobProcess> processes_of_run(const std::string& run);

}  // namespace redline::launch
