// The subcommands of `redline`, and what they share: errors, output, Ctrl-C and progress.
//
// Each subcommand has a file of its own. It adds its options to the app, with a callback that calls
// a library, prints what comes back, and sets the exit status. It has no logic of its own, so that
// everything can be tested, and used by the other programs, without a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdint>
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

/// True once SIGINT, SIGTERM or SIGHUP came: long work of our own looks at it, so that nothing is
/// left half done. Catches them from the first call on; a second signal ends the program at once.
[[nodiscard]] const std::atomic<bool>& interrupt_flag();

/// One line on stderr, drawn again when its percentage changes and wiped at the end; nothing where
/// stderr is no terminal.
class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(uint64_t done, uint64_t total);

 private:
  std::string what_;
  bool is_terminal_;
  int percent_ = -1;
};

/// Whether the file `output` would take the place of a trace that `paths` name.
[[nodiscard]] bool is_an_input(const std::string& output, const std::vector<std::string>& paths);

}  // namespace redline::cli
