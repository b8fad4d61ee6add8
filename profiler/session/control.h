// The control thread, by which the recorder hears from outside. It sleeps until `redline trigger`
// connects to this process's socket (request/trigger.h), or a signal handler or a step wakes it.
//
// The thread blocks all signals. Forked children do not have it, and its files close at exec. A
// signal handler does nothing but wake it, so it also works while the job hangs in a collective.
// Forked children inherit the handlers, but die of a signal as they would have without us.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "profiler/request/options.h"

namespace redline::profiler {

enum class Call : char {
  kTerminate = 'T',  ///< SIGTERM came
  kInterrupt = 'I',  ///< SIGINT came
  kTold = 'D',       ///< SIGTERM came, and the job's own handler has it
  kCapture = 'C',    ///< SIGUSR2 came
  kCrash = 'X',      ///< a thread has crashed and waits
  kSlowStep = 'S',   ///< the flight recorder's trace shall be written
  kProgress = 'P',   ///< a capture has made progress
  kListen = 'L',     ///< there is a socket now, or somebody may have removed it
};

/// Gives whether there is a control thread that will hear it: not in forked children, nor where the
/// job has closed its files. Async-signal-safe.
bool wake_control_thread(Call call) noexcept;

/// True in the process that has the thread, not in its forked children. Async-signal-safe.
[[nodiscard]] bool has_control_thread() noexcept;

/// Starts the thread, once.
[[nodiscard]] tl::expected<void, std::string> start_control_thread();

/// How captures are made unless the request says otherwise.
struct CaptureDefaults {
  Options options;
  int64_t steps = 3;
};

/// From now on the process can be asked for captures by its socket, and by SIGUSR2 unless the job
/// handles that itself. A later call changes the defaults.
[[nodiscard]] tl::expected<void, std::string> listen_for_captures(const CaptureDefaults& defaults);

/// Saves the recording if a signal ends the process, which runs no exit handlers. From now on the
/// signals below complete a window that has a directory and write the flight recorder's trace;
/// then the process ends as it would have.
///   SIGTERM, by which torchrun and Slurm end ranks, and SIGINT (Ctrl-C), each unless the job
///   handles it now or later;
///   SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT (also for uncaught exceptions): a handler of the job
///   runs afterwards, on the thread that crashed.
[[nodiscard]] tl::expected<void, std::string> finish_on_signals();

/// From now on SIGTERM completes the step log; then the process ends as it would have. Nothing
/// changes where the job handles it now or later.
[[nodiscard]] tl::expected<void, std::string> log_termination();

/// If the job handles SIGTERM already, its first one writes the flight recorder's trace, too. The
/// job's handler runs at once, and nothing else happens.
void hear_job_termination();

/// From now on SIGUSR2 asks for a capture, unless the job handles it.
void capture_on_signal();

// For the control thread only.

/// Ends the process as if it had never handled `signal`.
void die_of(int signal);
/// The name of the crash, such as "SIGSEGV", whose thread waits for crash_is_recorded().
[[nodiscard]] const char* crash_name();
void crash_is_recorded();

}  // namespace redline::profiler
