#include "machine/thread_times.h"

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

}  // namespace redline::machine
