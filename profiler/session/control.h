// How the recorder hears from outside: one thread that sleeps until `redline trigger` connects to
// this process's socket (request/trigger.h), or a signal handler or a step wakes it.
//
// The thread blocks all signals, is not in forked children, and its files close at exec. A signal
// handler does nothing but wake it, so it also works while the job hangs in a collective. Forked
// children, which inherit the handlers, die of the signal as they would have.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "profiler/request/options.h"

namespace redline::profiler {

enum class Call : char {
  kTerminate = 'T',  ///< SIGTERM came
  kCapture = 'C',    ///< SIGUSR2 came
  kCrash = 'X',      ///< a thread has crashed and waits
  kSlowStep = 'S',   ///< the flight recorder is to be written
  kProgress = 'P',   ///< a capture has got further
  kListen = 'L',     ///< there is a socket now
};

/// Without effect where there is no control thread. Async-signal-safe.
void wake_control_thread(Call call) noexcept;

/// True in the process that has the thread, not in its forked children. Async-signal-safe.
[[nodiscard]] bool has_control_thread() noexcept;

/// Starts the thread, once.
[[nodiscard]] tl::expected<void, std::string> start_control_thread();

/// How captures are made unless the one who asks says otherwise.
struct CaptureDefaults {
  Options options;
  int64_t steps = 3;
};

/// From now on the process can be asked for captures, by its socket and by SIGUSR2, unless it
/// handles that itself. A later call changes the defaults.
[[nodiscard]] tl::expected<void, std::string> listen_for_captures(const CaptureDefaults& defaults);

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
