#include "profiler/request/logged_jobs.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

#include "base/launched_rank.h"
#include "machine/launch/environment.h"
#include "machine/launch/process_tree.h"

namespace redline::launch {
namespace {

/// Calls visit(pid, environment) for each process that this user may read.
template <typename Visit>
void for_each_process(const Visit& visit) {
  std::error_code error;
  // A process may go while we look; the increment of a range-based for would throw then.
  std::filesystem::directory_iterator entry("/proc", error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::atoi(name.c_str());
    visit(pid, Environment::of_process(pid));
  }
}

/// A path to the folder that `process` has at `folder`; "" if it has none there, or it is not told.
std::string reach(const std::string& folder, pid_t process) {
  const std::string theirs = "/proc/" + std::to_string(process) + "/root" + folder;
  std::error_code error;
  if (!std::filesystem::is_directory(theirs, error)) return "";
  return std::filesystem::equivalent(theirs, folder, error) ? folder : theirs;
}

}  // namespace

std::vector<LoggedJob> running_logged_jobs() {
  std::map<std::pair<std::string, std::string>, std::string> jobs;
  for_each_process([&](pid_t pid, const Environment& environment) {
    const auto folder = environment.get("REDLINE_LOG");
    const auto run = environment.get("REDLINE_LOG_RUN");
    if (!folder || !run) return;
    std::string& reached_by = jobs[{*run, *folder}];
    if (reached_by.empty()) reached_by = reach(*folder, pid);
  });
  std::vector<LoggedJob> found;
  for (const auto& [job, reached_by] : jobs) {
    found.push_back({job.first, job.second, reached_by.empty() ? job.second : reached_by});
  }
  return found;
}

std::vector<JobProcess> processes_of_run(const std::string& run) {
  std::vector<JobProcess> found;
  for_each_process([&](pid_t pid, const Environment& environment) {
    if (pid == getpid() || environment.get("REDLINE_LOG_RUN") != run) return;
    const auto process = read_process(pid);
    if (!process || process->dead()) return;
    const auto rank =
        launched_rank([&](const char* name) { return environment.get(name).value_or(""); });
    found.push_back({pid, process->parent, {}});
    if (rank) found.back().rank = static_cast<int>(rank->rank);
  });
  return found;
}

}  // namespace redline::launch
