// The recorder's ear: one thread that sleeps until `redline trigger` connects to this process's
// socket (launch/control_address.h), or a signal handler or a step rings for it.
//
// It blocks all signals, is not in forked children, and its files close at exec.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "profiler/request/options.h"

namespace redline::profiler {

enum class Bell : char {
  kTerminate = 'T',  ///< SIGTERM came
  kCapture = 'C',    ///< SIGUSR2 came
  kCrash = 'X',      ///< a thread has crashed and waits
  kSlowStep = 'S',   ///< the flight recorder is to be written
  kProgress = 'P',   ///< a capture has got further
  kListen = 'L',     ///< there is a socket now
};

/// Wakes the control thread; without effect where there is none. Async-signal-safe.
void ring(Bell bell) noexcept;

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

}  // namespace redline::profiler
