// redline report PATH…: says what holds a training run back.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>

#include "base/format.h"
#include "cli/command.h"
#include "trace/read/flight_dumps.h"
#include "trace/read/hang_tables.h"
#include "trace/read/reader.h"
#include "trace/report/report.h"
#include "trace/report/run_report.h"
#include "trace/run/folder.h"

namespace redline::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> paths;
  std::string format = "text";
  std::string output;
  size_t top = trace::TextScope().top;
  bool all = false;
  bool timings = false;
  trace::GivenPeaks peaks;
};

// Writes to stderr, so that stdout holds only the report.
void print_timings(const trace::Report& report, double analyses_seconds) {
  const auto line = [](std::string_view what, double seconds) {
    fmt::print(stderr, "{:>9.1f} ms  {}\n", seconds * 1e3, what);
  };
  line("load", report.load_seconds);
  line("all analyses", analyses_seconds);
  for (const trace::Analysis& analysis : report.traces) {
    for (const AnalysisTime& time : analysis.times) line(time.name, time.seconds);
  }
  for (const AnalysisTime& time : report.times) line(time.name, time.seconds);
}

std::string render(const trace::Report& report, const ReportOptions& options) {
  if (options.format == "summary") return trace::run_figures_json(*report.run);
  if (options.format == "json") return trace::report_json(report);
  if (options.format == "html") return trace::report_html(report);
  TextStyle style = style_of(STDOUT_FILENO);
  if (!options.output.empty()) style.colour = false;
  return trace::report_text(report, style, {options.all ? trace::TextScope::kAll : options.top});
}

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

int report(ReportOptions options) {
  const std::string given = options.paths.front();
  const auto dumps = trace::take_flight_dumps(options.paths);
  if (!dumps) return fail(dumps.error().message);
  const std::vector<std::string> logs = trace::step_logs_of(options.paths);
  if (is_an_input(options.output, options.paths)) {
    return fail(options.output + ": is one of the traces to report. Choose another file with -o");
  }
  if (is_an_input(options.output, logs)) {
    return fail(options.output + ": is one of the step logs. Choose another file with -o");
  }
  const bool has_tables = std::ranges::any_of(options.paths, [](const std::string& path) {
    return !trace::find_hang_tables(path).empty();
  });
  const auto read_run = trace::read_run(logs);
  // A job may hang before its logs hold anything.
  if (!read_run && !has_tables) return fail(read_run.error().message);
  const auto run = read_run.value_or(std::nullopt);
  if (options.format == "summary" && !run) {
    return fail(given +
                ": no step log with a step, of which a summary would be. Make one: redline run "
                "--log DIR -- CMD");
  }
  const auto paths = options.format == "summary" ? std::vector<std::string>()
                                                 : trace::trace_paths_of(options.paths);
  if (paths.empty() && !run && dumps->empty() && !has_tables) {
    return fail(given + ": no training step in its step logs yet, and no traces");
  }
  if (paths.empty() && !run && options.format == "html") {
    return fail(given + ": a page needs traces or step logs, too. Try --format text");
  }
  const auto begin = std::chrono::steady_clock::now();
  trace::Report result;
  auto loaded = begin;
  if (!paths.empty()) {
    std::vector<trace::ReadError> unreadable;
    trace::ReadOptions read;
    read.unreadable = &unreadable;
    const auto traces = trace::read_traces(paths, read);
    if (!traces) return fail(traces.error().message);
    say_left_out(paths, *traces, unreadable);
    loaded = std::chrono::steady_clock::now();
    result = trace::make_report(*traces);
    result.load_seconds = seconds_between(begin, loaded);
    for (const trace::ReadError& error : unreadable) result.unreadable.push_back(error.message);
    for (trace::Analysis& analysis : result.traces) options.peaks.apply_to(analysis.peaks);
  }
  result.run = run;
  result.path = given;
  trace::add_hang(result, options.paths, *dumps);
  if (options.timings) {
    print_timings(result, seconds_between(loaded, std::chrono::steady_clock::now()));
  }
  return write_output(render(result, options), options.output);
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Say what holds a training run back");
  command
      ->add_option("PATH", options->paths,
                   "Trace files, folders of ranks or of step logs, or "
                   "dumps of torch's flight recorder as JSON")
      ->required();
  command
      ->add_option("--format", options->format,
                   "text, json, html, or summary: the figures of a whole run by its step logs, as "
                   "flat JSON")
      ->check(CLI::IsMember({"text", "json", "html", "summary"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "File to write instead of standard output");
  command->add_option("--top", options->top, "Rows of each table in the text report")
      ->check(above_zero)
      ->capture_default_str();
  command->add_flag("--all", options->all, "All rows of each table in the text report");
  command->add_flag("--timings", options->timings,
                    "Say on stderr what loading and each analysis took");
  add_peak_options(*command, options->peaks);
  command->footer(
      "Of a folder with step logs it reports on the whole run, also while it runs.\n"
      "Examples:\n"
      "  redline report traces\n"
      "  redline report --format html -o report.html traces\n"
      "  redline report --format json traces | jq .advice\n"
      "  redline report --format summary -o summary.json logs");
  command->callback([options, &status] { status = report(*options); });
}

}  // namespace redline::cli
