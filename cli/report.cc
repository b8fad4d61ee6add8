// redline report PATH…: what holds a training run back.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>

#include "cli/command.h"
#include "trace/reader.h"
#include "trace/report.h"

namespace redline::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> paths;
  std::string format = "text";
  std::string output;
  size_t top = trace::TextScope().top;
  bool all = false;
};

std::string render(const trace::Report& report, const ReportOptions& options) {
  if (options.format == "json") return trace::report_json(report);
  if (options.format == "html") return trace::report_html(report);
  trace::TextStyle style = trace::stdout_style();
  if (!options.output.empty()) style.colour = false;
  return trace::report_text(report, style, {options.all ? trace::TextScope::kAll : options.top});
}

int report(const ReportOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto traces = trace::read_traces(options.paths);
  if (!traces) return fail(traces.error().message);
  const std::chrono::duration<double> load = std::chrono::steady_clock::now() - begin;
  trace::Report result = trace::make_report(*traces);
  result.load_seconds = load.count();
  return write_output(render(result, options), options.output);
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Say what holds a training run back");
  command->add_option("PATH", options->paths, "Trace files, or folders of ranks")->required();
  command->add_option("--format", options->format, "text, json or html")
      ->check(CLI::IsMember({"text", "json", "html"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "File to write instead of standard output");
  command->add_option("--top", options->top, "Rows of each table in the text report")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--all", options->all, "All rows of each table in the text report");
  command->footer(
      "Examples:\n"
      "  redline report traces\n"
      "  redline report --format html -o report.html traces\n"
      "  redline report --format json traces | jq .advice");
  command->callback([options, &status] { status = report(*options); });
}

}  // namespace redline::cli
