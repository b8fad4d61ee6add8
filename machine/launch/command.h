// Starts commands, for `redline record` and `run`, doctor's probes, and trials of autotune. All of
// them look the program up in PATH, give it an environment, and need the reason if it cannot start.
// Only the child learns that reason, after fork(). The child sends it through a pipe, which a
// successful exec closes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "machine/launch/environment.h"

namespace redline::launch {

/// Starts `command` (a program that is looked up in PATH, and its arguments) as a child of this
/// process, with `environment` ("NAME=VALUE"). The error is the reason why it could not be started.
///
/// `prepare` runs in the child before it becomes the command. It may make only calls that are
/// async-signal-safe, because other threads of this process may have held locks at fork(). If it
/// gives false, the command is not started, and errno is the reason.
[[nodiscard]] tl::expected<pid_t, std::string> start_command(
    const std::vector<std::string>& command, const std::vector<std::string>& environment,
    const std::function<bool()>& prepare);

/// Why start_command() could not start `word`, as far as that shows without starting it; empty if
/// nothing speaks against it.
[[nodiscard]] std::string why_no_program(const std::string& word);

/// "train.py: Permission denied. Start it with Python: python train.py": says why start_command()
/// could not start `command`, and what to type instead, or `otherwise` if its words do not tell.
[[nodiscard]] std::string start_problem(const std::vector<std::string>& command,
                                        const std::string& why, const std::string& otherwise = "");

/// Waits for the end of a child, and gives its exit status as shells do.
[[nodiscard]] int wait_for_exit(pid_t child);
/// The exit status, or 128 + N if signal N ended the process.
[[nodiscard]] int exit_status(int wait_status);

/// For use in `prepare`: opens `path` as the descriptor `target`.
[[nodiscard]] bool redirect(const char* path, int flags, int target);

/// Runs a training command as if Redline were not there. Waits for its end and gives its exit
/// status, or 128 + N if signal N ended it.
///
/// The command stays in our process group, so what is sent to the group (Ctrl-C, a scheduler's
/// signals) reaches it directly, and the command alone decides what to do. Signals that somebody
/// sends only to us (kill PID) are passed on. None of these signals ends us meanwhile, because we
/// must still report what the command has left behind.
[[nodiscard]] tl::expected<int, std::string> run_command(const std::vector<std::string>& command,
                                                         const Environment& environment);

/// The stdout of a command; its stderr is thrown away. The error continues a sentence that begins
/// with the command's name: "did not start: …", "ended with status 1", "was ended by signal 11
/// (Segmentation fault)". A command that takes longer than `time_limit` is killed, and the error is
/// "did not end in 3 min".
[[nodiscard]] tl::expected<std::string, std::string> command_output(
    const std::vector<std::string>& command, std::chrono::milliseconds time_limit);

}  // namespace redline::launch
