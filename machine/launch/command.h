// Starts commands: `redline record` and `run`, doctor's probes, and trials of autotune. All of them
// look the program up in PATH, give it an environment of its own, and need the reason if it cannot
// start. Only the child learns that reason, after fork(). The child sends it through a pipe, which
// a successful exec closes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "machine/launch/environment.h"

namespace redline::launch {

/// Starts `command` (a program found in PATH, and its arguments) as a child of this process, with
/// `environment` ("NAME=VALUE"). The error is the reason why it could not be started.
///
/// `prepare` runs in the child before it becomes the command, and may make only calls that are
/// async-signal-safe, as other threads of this process may have held locks. False: errno says why
/// not.
[[nodiscard]] tl::expected<pid_t, std::string> start_command(
    const std::vector<std::string>& command, const std::vector<std::string>& environment,
    const std::function<bool()>& prepare);

/// In `prepare`: opens `path` as the descriptor `target`.
[[nodiscard]] bool redirect(const char* path, int flags, int target);

/// Runs a training command as if Redline were not there: waits for its end and gives its exit
/// status, 128 + N where signal N ended it.
///
/// The command stays in our process group, so the terminal's Ctrl-C reaches it directly, as often
/// as it is pressed, and only it decides what to do. Signals that somebody sends to us alone (kill
/// PID) are passed on. Meanwhile none of them ends us: what the command leaves behind is still to
/// be reported.
[[nodiscard]] tl::expected<int, std::string> run_command(const std::vector<std::string>& command,
                                                         const Environment& environment);

/// stdout of a command that ended with status 0 in time; else none. Its stderr goes nowhere. One
/// that is late is killed.
[[nodiscard]] std::optional<std::string> command_output(const std::vector<std::string>& command,
                                                        std::chrono::milliseconds time_limit);

}  // namespace redline::launch
