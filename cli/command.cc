#include "cli/command.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/format.h"
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

/// Puts a plain number in place of one with a unit. A number without one stays as it is typed.
template <auto parse, typename ToNumber>
CLI::Validator with_unit(ToNumber to_number) {
  const auto replace = [to_number](std::string& text) -> std::string {
    if (!std::isnan(number_in(text))) return "";
    const auto value = parse(text);
    if (!value) return value.error();
    text = to_number(*value);
    return "";
  };
  return CLI::Validator(replace, "");
}

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

void add_output_option(CLI::App& command, std::string& output) {
  command.add_option("-o,--output", output, "File to write instead of standard output");
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

CLI::Validator as_seconds() {
  return with_unit<parse_duration>([](std::chrono::nanoseconds duration) {
    return std::to_string(std::chrono::duration<double>(duration).count());
  });
}

CLI::Validator as_bytes() {
  return with_unit<parse_size>([](uint64_t bytes) { return std::to_string(bytes); });
}

void add_hang_options(CLI::App& command, HangOptions& options, std::vector<std::string> actions,
                      const std::string& needed) {
  command
      .add_option("--hang-after", options.after,
                  "With " + needed +
                      ": say who holds the job up once ranks have waited so long, and three steps "
                      "(5s; 0: never)")
      ->transform(as_seconds())
      ->check(CLI::NonNegativeNumber)
      ->option_text("TIME")
      ->needs(command.get_option(needed));
  options.action = actions.front();
  const bool traces = options.action == "trace";
  command
      .add_option("--on-hang", options.action,
                  "With " + needed + ". report: say who hangs; " +
                      (traces ? "trace: and write a trace of each rank; " : "") +
                      "abort: say it and end the job with status 75, so that a scheduler starts it "
                      "again (" +
                      options.action + ")")
      ->check(CLI::IsMember(std::move(actions)))
      ->option_text("WHAT")
      ->needs(command.get_option(needed));
}

tl::expected<std::unique_ptr<watch::HangWatch>, std::string> watch_for_hangs(
    const HangOptions& options, const std::string& folder, launch::Environment& environment) {
  if (options.after <= 0) return nullptr;
  environment.set(watch::kTablesVariable, "1");
  const auto action = options.action == "abort"   ? watch::OnHang::kAbort
                      : options.action == "trace" ? watch::OnHang::kTrace
                                                  : watch::OnHang::kReport;
  std::optional<watch::MeetingPlace> place;
  if (const auto address = environment.get("REDLINE_HANG_MEET")) {
    auto parsed =
        watch::MeetingPlace::parse(*address, environment.get("REDLINE_HANG_TOKEN").value_or(""));
    if (!parsed) return tl::unexpected(parsed.error());
    place = *std::move(parsed);
  }
  return std::make_unique<watch::HangWatch>(folder, environment.get("REDLINE_LOG_RUN").value_or(""),
                                            options.after, action, std::move(place));
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

void add_gate_options(CLI::App& command, GateOptions& options) {
  const auto add = [&](const char* name, std::optional<double>& limit, const char* help) {
    command
        .add_option_function<std::string>(
            name, [&limit](const std::string& text) { limit = *parse_percent(text); }, help)
        ->check([](const std::string& text) {
          const auto share = parse_percent(text);
          return share ? "" : share.error();
        })
        ->option_text("PERCENT");
  };
  add("--fail-slower", options.limits.slower,
      "Exit with 3 if the same work surely takes longer by more than this, such as 5%, and with 4 "
      "if it is too early to tell");
  add("--fail-memory", options.limits.memory, "The same for the memory that a run held at most");
  command.add_flag("--lenient", options.lenient, "Exit with 0 if it is too early to tell");
}

void add_peak_options(CLI::App& command, trace::GivenPeaks& peaks) {
  command
      .add_option_function<std::string>(
          "--peak-tflops",
          [&peaks](const std::string& text) {
            if (auto read = trace::read_peak_tflops(text, peaks); !read) {
              throw CLI::ValidationError("--peak-tflops", read.error());
            }
          },
          "What the device does at most, instead of its datasheet's or measured figures: 989, or "
          "by type bf16=989,fp32=67")
      ->type_name("TFLOPS");
  command
      .add_option("--peak-gbs", peaks.gb_per_s,
                  "What its memory moves at most, in 10^9 bytes a second")
      ->check(above_zero)
      ->type_name("GB/S");
}

void add_link_option(CLI::App& command, trace::GivenPeaks& peaks) {
  command
      .add_option(
          "--peak-link-gbs", peaks.link_gb_per_s,
          "What a GPU's links to the others carry at most, in one direction. Tells how much "
          "of them collectives used where the ranks are on several hosts or on PCIe cards")
      ->check(above_zero)
      ->type_name("GB/S");
}

std::vector<std::string> peak_options(const trace::GivenPeaks& peaks) {
  std::vector<std::string> options;
  std::string tflops;
  for (size_t i = 0; i < trace::kPeakTypeCount; ++i) {
    if (!peaks.tflops[i]) continue;
    tflops += fmt::format("{}{}={}", tflops.empty() ? "" : ",", trace::kPeakTypeNames[i],
                          *peaks.tflops[i]);
  }
  if (!tflops.empty()) options.push_back("--peak-tflops=" + tflops);
  if (peaks.gb_per_s) options.push_back(fmt::format("--peak-gbs={}", *peaks.gb_per_s));
  if (peaks.link_gb_per_s) {
    options.push_back(fmt::format("--peak-link-gbs={}", *peaks.link_gb_per_s));
  }
  return options;
}

int status_of(trace::GateOutcome outcome, const GateOptions& options) {
  switch (outcome) {
    case trace::GateOutcome::kNoWorse:
      return kDone;
    case trace::GateOutcome::kSurelyBeyond:
      return kBeyond;
    case trace::GateOutcome::kCannotTell:
      return options.lenient ? kDone : kCannotTell;
  }
  return kFailed;
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
