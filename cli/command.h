// The subcommands of `redline`, and what all of them share: errors, output, Ctrl-C and progress.
//
// Each subcommand has a file of its own. It adds its options to the app, with a callback that calls
// a library, prints what comes back, and sets the exit status. It has no logic of its own, so that
// everything can be tested, and used by the other programs, without a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/terminal.h"
#include "machine/launch/environment.h"
#include "trace/read/recordings.h"

namespace redline::cli {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;

/// Adds one subcommand to `app`; its callback writes the exit status of the program to `status`.
using AddCommand = void (*)(CLI::App& app, int& status);

void add_compare(CLI::App& app, int& status);
void add_monitor(CLI::App& app, int& status);
void add_record(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_diff(CLI::App& app, int& status);
void add_doctor(CLI::App& app, int& status);
void add_export(CLI::App& app, int& status);
void add_merge(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
void add_summarize(CLI::App& app, int& status);
void add_trigger(CLI::App& app, int& status);
void add_view(CLI::App& app, int& status);
void add_what_if(CLI::App& app, int& status);

/// Writes "redline: LINE" to stderr.
void say(const std::string& line);

/// Writes "redline: MESSAGE" to stderr and gives kFailed, for `status = fail("…")`.
[[nodiscard]] int fail(const std::string& message);
/// The same; after a signal (interrupt_flag) it says instead that nothing was written.
[[nodiscard]] int fail_unless_interrupted(const std::string& message);
/// fail() with kUsage.
[[nodiscard]] int usage(const std::string& message);

/// Says which recordings in the folders of `paths` are older than the files `read`
/// (notes_on_left_out), and which files could not be read.
void say_left_out(const std::vector<std::string>& paths, const std::vector<std::string>& read,
                  const std::vector<trace::ReadError>& unreadable = {});

/// Runs a command that add_step_log() gave a log, and gives its exit status.
[[nodiscard]] tl::expected<int, std::string> run_logged(const std::vector<std::string>& command,
                                                        const launch::Environment& environment);

/// Writes to the file `path`, which appears complete or not at all, or to standard output if `path`
/// is empty. Gives the exit status. One line on stderr tells of a full disk or a closed pipe, and
/// of `option` if another file can be given with it.
[[nodiscard]] int write_output(const std::string& content, const std::string& path,
                               const std::string& option = "");

/// Of text that goes to `output`, or to standard output if that is empty.
[[nodiscard]] TextStyle text_style(const std::string& output);

/// True after SIGINT, SIGTERM or SIGHUP. Long work checks it, so that nothing is left half done.
/// The first call installs the handlers. A second signal ends the program at once.
[[nodiscard]] const std::atomic<bool>& interrupt_flag();

/// A line on stderr that is drawn again when its percentage changes, and erased at the end. Draws
/// nothing if stderr is no terminal.
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

/// Says so if writing the file `output` would overwrite a trace, step log or summary of `paths`.
[[nodiscard]] bool would_overwrite_input(const std::string& output,
                                         const std::vector<std::string>& paths);

}  // namespace redline::cli
