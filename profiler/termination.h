// What was recorded survives SIGTERM, by which torchrun and Slurm end ranks and which kills without
// a word otherwise: no exit handler runs, and a short window may not have reached the disk yet.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace redline::profiler {

/// From now on SIGTERM first completes a window that has a directory, then ends the process as it
/// would have. The handler only wakes a thread that waits for it, so it also works while the job
/// hangs in a collective. Without effect where the job, now or later, handles SIGTERM itself;
/// forked children die of it at once.
[[nodiscard]] tl::expected<void, std::string> finish_on_termination();

}  // namespace redline::profiler
