#include "cli/command.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/printable.h"
#include "machine/launch/command.h"
#include "trace/read/flight_dumps.h"
#include "trace/read/hang_tables.h"
#include "trace/read/reader.h"
#include "trace/run/folder.h"
#include "trace/summary/summary_file.h"

namespace redline::cli {
namespace {

std::atomic<bool> g_interrupted = false;  // global, because a signal handler writes it
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) { g_interrupted = true; }

}  // namespace

void say(const std::string& line) { std::fprintf(stderr, "redline: %s\n", line.c_str()); }

int fail(const std::string& message) {
  say(message);
  return kFailed;
}

int fail_unless_interrupted(const std::string& message) {
  if (g_interrupted) return fail("interrupted: nothing was written");
  return fail(message);
}

int usage(const std::string& message) {
  say(message);
  return kUsage;
}

TextStyle text_style(const std::string& output) {
  TextStyle style = style_of(STDOUT_FILENO);
  if (!output.empty()) style.colour = false;
  return style;
}

int write_output(const std::string& content, const std::string& path, const std::string& option) {
  const std::string remedy = option.empty() ? "" : ". Choose another file with " + option + " FILE";
  if (!path.empty()) {
    const auto written = write_file(path, content);
    return written ? kDone : fail(written.error() + remedy);
  }
  const bool written = std::fwrite(content.data(), 1, content.size(), stdout) == content.size();
  if (written && std::fflush(stdout) == 0) return kDone;
  return fail(std::string("standard output: ") + std::strerror(errno) + remedy);
}

void say_left_out(const std::vector<std::string>& paths, const std::vector<std::string>& read,
                  const std::vector<trace::ReadError>& unreadable) {
  for (const std::string& note : trace::notes_on_left_out(paths, read, unreadable))
    say(printable(note, "?"));
  for (const trace::ReadError& error : unreadable)
    say("left out: " + printable(error.message, "?"));
}

bool would_overwrite_input(const std::string& output, const std::vector<std::string>& paths) {
  if (output.empty()) return false;  // standard output: no folder needs to be looked through
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path folder = fs::absolute(output, ignored).parent_path();
  // A flight recorder's dump is known by its content, not by its name.
  std::vector<std::string> others = {output};
  const bool is_dump = !trace::take_flight_dumps(others) || others.empty();
  for (const std::string& path : paths) {
    // A folder without traces may have summaries; logs and hang tables lie beside traces.
    auto files = trace::find_traces(path).value_or(trace::find_summaries(path));
    for (std::string& log : trace::step_logs_of({path})) files.push_back(std::move(log));
    for (std::string& table : trace::find_hang_tables(path)) files.push_back(std::move(table));
    if (is_dump && fs::equivalent(folder, path, ignored)) files.push_back(output);
    for (const std::string& file : files) {
      if (!fs::equivalent(file, output, ignored)) continue;
      say(output + ": is one of the files to read. Choose another file with -o");
      return true;
    }
  }
  return false;
}

tl::expected<int, std::string> run_logged(const std::vector<std::string>& command,
                                          const launch::Environment& environment) {
  const auto status = launch::run_command(command, environment);
  const bool was_told = status == 128 + SIGINT || status == 128 + SIGTERM;
  if (const auto folder = environment.get("REDLINE_LOG"); folder && was_told) {
    trace::note_end(*folder, environment.get("REDLINE_LOG_RUN").value_or(""), *status);
  }
  return status;
}

const std::atomic<bool>& interrupt_flag() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  return g_interrupted;
}

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), is_terminal_(is_screen(STDERR_FILENO)) {}

ProgressBar::~ProgressBar() {
  if (percent_ >= 0) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::show(uint64_t done, uint64_t total) {
  if (!is_terminal_ || total == 0) return;
  const auto percent = static_cast<int>(std::min(done, total) * 100 / total);
  if (percent == percent_) return;
  percent_ = percent;
  constexpr size_t kWords = 22;  // of the line, and a column that stays free for the cursor
  const size_t columns = std::max(screen_size(STDERR_FILENO).columns, kWords);
  const size_t width = std::min<size_t>(40, columns - kWords);
  const size_t full = static_cast<size_t>(percent) * width / 100;
  const std::string bar = std::string(full, '#') + std::string(width - full, '.');
  std::fprintf(stderr, "\r%-12s [%s] %3d %%", what_.c_str(), bar.c_str(), percent);
  std::fflush(stderr);
}

}  // namespace redline::cli
