// The signals that the recorder hears, each only where the job leaves it to its default.
//
// A handler does nothing but ring for the control thread, so it also works while the job hangs in a
// collective. A job that later handles the signal itself has it to itself; forked children, which
// inherit the handlers, die of the signal as they would have.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace redline::profiler {

/// What was recorded survives SIGTERM, by which torchrun and Slurm end ranks and which kills
/// without a word otherwise: no exit handler runs, and a short window may not have reached the disk
/// yet. From now on SIGTERM first completes a window that has a directory, then ends the process as
/// it would have.
[[nodiscard]] tl::expected<void, std::string> finish_on_termination();

/// From now on SIGUSR2 asks for a capture.
void capture_on_signal();

/// The process ends as if it had never handled `signal`. Control thread only.
void die_of(int signal);

}  // namespace redline::profiler
