#include "profiler/request/logged_jobs.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "machine/launch/environment.h"

namespace redline::launch {

std::vector<LoggedJob> running_logged_jobs() {
  std::set<LoggedJob> jobs;
  std::error_code error;
  // A process may go while we look; the increment of a range-based for would throw then.
  std::filesystem::directory_iterator entry("/proc", error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto environment = Environment::of_process(std::atoi(name.c_str()));
    const auto folder = environment.get("REDLINE_LOG");
    const auto run = environment.get("REDLINE_LOG_RUN");
    if (folder && run) jobs.insert({*run, *folder});
  }
  return {jobs.begin(), jobs.end()};
}

}  // namespace redline::launch
