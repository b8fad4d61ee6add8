// What is said of a hang, the same in all reports and by the launcher of a job.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/analysis/hang.h"

namespace redline::trace {

/// "the job hangs", "the job failed", "the job is slow".
[[nodiscard]] const char* hang_title(const Hang& hang);

/// The verdict in a few lines: who, what it does, where, and who waits in what since when. `now_ns`
/// (unix time) is the end of the wait.
[[nodiscard]] std::vector<std::string> hang_lines(const Hang& hang, int64_t now_ns);

/// Where there is no verdict: which ranks do not list the last collective that others list, in a
/// sentence. "" if all list the same.
[[nodiscard]] std::string lagging_text(std::span<const HangTable> ranks);

}  // namespace redline::trace
