// Finds the jobs of this user on this machine whose processes log their steps.
#pragma once

#include <string>
#include <vector>

namespace redline::launch {

struct LoggedJob {
  std::string run;     ///< the name that all its logs have
  std::string folder;  ///< of the logs

  auto operator<=>(const LoggedJob&) const = default;
};

/// By the environment of the running processes. Those of other users cannot be read, so their jobs
/// are not found. Sorted, each job once.
[[nodiscard]] std::vector<LoggedJob> running_logged_jobs();

}  // namespace redline::launch
