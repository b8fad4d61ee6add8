// Runs a training command as if Redline were not there: same terminal, same signals, same status.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "machine/launch/environment.h"

namespace redline::launch {

/// Starts `command` (a program found in PATH, and its arguments) with `environment`, waits for its
/// end and gives its exit status, 128 + N where signal N ended it. The error is the reason why it
/// could not be started.
///
/// The command stays in our process group, so the terminal's Ctrl-C reaches it directly, as often
/// as it is pressed, and only it decides what to do. Signals that somebody sends to us alone (kill
/// PID) are passed on. Meanwhile none of them ends us: what the command leaves behind is still to
/// be reported.
[[nodiscard]] tl::expected<int, std::string> run_command(const std::vector<std::string>& command,
                                                         const Environment& environment);

}  // namespace redline::launch
