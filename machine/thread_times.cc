#include "machine/thread_times.h"

#include <filesystem>

#include "base/file.h"
#include "base/integer.h"
#include "machine/kernel_text.h"

namespace redline::machine {

std::optional<ThreadTimes> thread_times(const std::string& process, int64_t thread,
                                        const std::string& root) {
  const std::string text =
      read_file(root + "/proc/" + process + "/task/" + std::to_string(thread) + "/schedstat");
  std::string_view columns = text;
  const auto run_ns = leading_integer(take_word(columns));
  const auto wait_ns = leading_integer(take_word(columns));
  if (!run_ns || !wait_ns) return std::nullopt;
  return ThreadTimes{*run_ns, *wait_ns};
}

std::vector<pid_t> thread_ids(const std::string& root) {
  std::vector<pid_t> ids;
  std::error_code error;
  const std::string folder = root + "/proc/self/task";
  for (std::filesystem::directory_iterator thread(folder, error), end; !error && thread != end;
       thread.increment(error)) {
    const auto id = leading_integer<pid_t>(thread->path().filename().native());
    if (id) ids.push_back(*id);
  }
  return ids;
}

}  // namespace redline::machine
