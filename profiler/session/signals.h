// The signals that the recorder hears.
//
// A handler does nothing but ring for the control thread, so it also works while the job hangs in a
// collective. Forked children, which inherit the handlers, die of the signal as they would have.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace redline::profiler {

/// What was recorded survives the signals that end a process without a word: no exit handler runs,
/// and what is kept in memory is gone. From now on these first complete a window that has a
/// directory and write the flight recorder's trace, then the process ends as it would have:
///   SIGTERM, by which torchrun and Slurm end ranks, unless the job, now or later, handles it;
///   SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT (uncaught exceptions, too): the job's own handler, if
///   there is one, runs afterwards, on its thread.
[[nodiscard]] tl::expected<void, std::string> finish_on_signals();

/// From now on SIGUSR2 asks for a capture, unless the job handles it.
void capture_on_signal();

// Control thread only.

/// The process ends as if it had never handled `signal`.
void die_of(int signal);
/// "SIGSEGV" and the like: the crash whose thread waits for crash_is_recorded().
[[nodiscard]] const char* crash_name();
void crash_is_recorded();

}  // namespace redline::profiler
