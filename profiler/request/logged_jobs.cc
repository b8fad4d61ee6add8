#include "profiler/request/logged_jobs.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include "base/file.h"

namespace redline::launch {
namespace {

// `environment` holds "NAME=VALUE" strings, each with a zero behind it.
std::optional<std::string> value_in(const std::string& environment, std::string_view name) {
  for (size_t at = 0; at < environment.size();) {
    const size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view entry(environment.data() + at, end - at);
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      return std::string(entry.substr(name.size() + 1));
    }
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace

std::vector<LoggedJob> running_logged_jobs() {
  std::set<LoggedJob> jobs;
  std::error_code error;
  // A process may go while we look; the increment of a range-based for would throw then.
  std::filesystem::directory_iterator entry("/proc", error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = read_file(entry->path() / "environ");
    auto folder = value_in(environment, "REDLINE_LOG");
    auto run = value_in(environment, "REDLINE_LOG_RUN");
    if (folder && run) jobs.insert({std::move(*run), std::move(*folder)});
  }
  return {jobs.begin(), jobs.end()};
}

}  // namespace redline::launch
