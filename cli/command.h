// The subcommands of `redline`. Each lives in a file of its own, which adds its options to the app
// and a callback that parses, calls a library, prints, and sets the exit status: no logic of its
// own.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace redline::cli {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;

/// Adds one subcommand to `app`; its callback writes the exit status of the program to `status`.
using AddCommand = void (*)(CLI::App& app, int& status);

void add_monitor(CLI::App& app, int& status);
void add_record(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_diff(CLI::App& app, int& status);
void add_doctor(CLI::App& app, int& status);
void add_export(CLI::App& app, int& status);
void add_merge(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
void add_trigger(CLI::App& app, int& status);
void add_view(CLI::App& app, int& status);

/// One line on stderr, "redline: MESSAGE", and kFailed: `status = fail("…")`.
[[nodiscard]] int fail(const std::string& message);

/// Writes to the file `path`, which appears whole or not at all, or to standard output if it is
/// empty. A full disk or a closed pipe is a failure, said in one line.
[[nodiscard]] int write_output(const std::string& content, const std::string& path);

/// Whether the file `output` would take the place of a trace that `paths` name.
[[nodiscard]] bool is_an_input(const std::string& output, const std::vector<std::string>& paths);

}  // namespace redline::cli
