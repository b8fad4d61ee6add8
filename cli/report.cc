// redline report PATH…: says what holds a training run back.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

#include "base/clock.h"
#include "base/format.h"
#include "base/printable.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "machine/launch/srun.h"
#include "trace/read/flight_dumps.h"
#include "trace/read/hang_tables.h"
#include "trace/read/reader.h"
#include "trace/report/report.h"
#include "trace/report/run_report.h"
#include "trace/run/folder.h"
#include "trace/summary/summarize.h"
#include "trace/summary/summary_file.h"

namespace redline::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> paths;
  std::string format = "text";
  std::string output;
  size_t top = trace::TextScope().top;
  bool all = false;
  bool timings = false;
  std::string launcher = "local";
  trace::GivenPeaks peaks;
};

// Writes to stderr, so that stdout holds only the report.
void print_timings(const trace::Report& report, const trace::Summaries& summaries) {
  const auto line = [](std::string_view what, double seconds) {
    fmt::print(stderr, "{:>9.1f} ms  {}\n", seconds * 1e3, what);
  };
  line("load", summaries.read_seconds);
  line("all analyses", summaries.analyze_seconds);
  std::vector<std::pair<std::string_view, double>> sums;  // over all ranks, in order
  const auto add = [&](const trace::AnalysisTime& time) {
    const auto known =
        std::ranges::find(sums, time.name, &std::pair<std::string_view, double>::first);
    if (known == sums.end()) {
      sums.emplace_back(time.name, time.seconds);
    } else {
      known->second += time.seconds;
    }
  };
  for (const trace::RankSummary& summary : report.traces) std::ranges::for_each(summary.times, add);
  std::ranges::for_each(report.times, add);
  for (const auto& [name, seconds] : sums) line(name, seconds);
}

// For the page: traces that are still loaded, and others read again.
trace::TraceOf traces_of(const trace::Report& report, const trace::Summaries& summaries) {
  return [&](size_t index) -> std::shared_ptr<const trace::Trace> {
    const trace::TraceFacts& facts = report.traces[index].facts;
    const std::string& path = facts.path;
    const auto kept = summaries.kept.find(path);
    if (kept != summaries.kept.end()) return kept->second;
    const auto trace = trace::read_trace(path).value_or(nullptr);
    // A summary's path may lead to the trace of another run here.
    const bool is_same = trace && trace->event_count() == facts.events &&
                         trace->begin_ns() == facts.begin_ns && trace->end_ns() == facts.end_ns;
    return is_same ? trace : nullptr;
  };
}

std::string render(const trace::Report& report, const trace::Summaries& summaries,
                   const ReportOptions& options) {
  if (options.format == "summary") return trace::run_figures_json(*report.run);
  if (options.format == "json") return trace::report_json(report);
  if (options.format == "html") return trace::report_html(report, traces_of(report, summaries));
  const TextStyle style = text_style(options.output);
  return trace::report_text(report, style, {options.all ? trace::TextScope::kAll : options.top});
}

// Each node of the Slurm job summarizes its part of the traces. Files of summaries alone are no
// work to share.
tl::expected<trace::Summaries, trace::ReadError> summaries_by_slurm(
    const std::vector<std::string>& paths, const trace::SummarizeOptions& how) {
  const auto nodes = launch::slurm_nodes();
  if (!nodes) return tl::unexpected(trace::ReadError{nodes.error()});
  const size_t traces = trace::count_traces(paths);
  if (traces == 0) return trace::summarize(paths, how);
  const size_t parts = std::min(*nodes, traces);
  const auto command_of = [&](size_t node) {
    std::vector<std::string> command = {launch::program_folder() + "/redline", "summarize",
                                        fmt::format("--part={}/{}", node + 1, parts)};
    for (std::string& option : peak_options(how.peaks)) command.push_back(std::move(option));
    command.emplace_back("--");
    command.insert(command.end(), paths.begin(), paths.end());
    return command;
  };
  trace::Summaries summaries;
  const auto take = [&](size_t node, launch::NodeOutput output) {
    const std::string name = fmt::format("node {} of {}", node + 1, parts);
    if (output) {
      std::istringstream lines(*std::move(output));
      return trace::add_summaries(lines, name, summaries);
    }
    const size_t lost = (traces - node + parts - 1) / parts;
    const std::string missing = format_plural(lost, "trace");
    summaries.unreadable.push_back(
        {fmt::format("{}: {}: srun {}", name, missing, output.error()), name});
  };
  const auto& interrupted = interrupt_flag();
  launch::run_on_nodes(parts, command_of, take, interrupted);
  if (interrupted) return tl::unexpected(trace::ReadError{});  // fail_unless_interrupted() says it
  return summaries;
}

// Of what `paths` stand for, all but the traces that were left out as superseded. What a node that
// failed had is missing, not left out.
std::vector<std::string> counted_traces(const std::vector<std::string>& paths,
                                        const trace::Summaries& summaries) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::set<fs::path> left_out;
  for (const std::string& path : summaries.left_out) left_out.insert(fs::canonical(path, ignored));
  std::vector<std::string> counted;
  for (const trace::RankSummary& summary : summaries.ranks) counted.push_back(summary.facts.path);
  for (const std::string& path : paths) {
    for (std::string& file : trace::find_traces(path).value_or(std::vector<std::string>())) {
      if (!left_out.contains(fs::canonical(file, ignored))) counted.push_back(std::move(file));
    }
  }
  return counted;
}

tl::expected<trace::Summaries, trace::ReadError> summaries_of(const std::vector<std::string>& paths,
                                                              const ReportOptions& options) {
  trace::SummarizeOptions how;
  how.peaks = options.peaks;
  how.kept_traces = options.format == "html" ? trace::kMostRankLanes : 0;
  auto summaries =
      options.launcher == "slurm" ? summaries_by_slurm(paths, how) : trace::summarize(paths, how);
  if (!summaries) return summaries;
  trace::keep_latest(*summaries);
  if (summaries->ranks.empty()) {
    if (!summaries->unreadable.empty()) return tl::unexpected(summaries->unreadable.front());
    return tl::unexpected(trace::ReadError{paths.front() + ": no traces in it"});
  }
  std::vector<std::string> traces = paths;
  std::erase_if(traces, trace::is_summary_file);
  say_left_out(traces, counted_traces(traces, *summaries), summaries->unreadable);
  return summaries;
}

int report(ReportOptions options) {
  if (would_overwrite_input(options.output, options.paths)) return kFailed;
  const std::string given = options.paths.front();
  const auto dumps = trace::take_flight_dumps(options.paths);
  if (!dumps) return fail(dumps.error().message);
  const std::vector<std::string> logs = trace::step_logs_of(options.paths);
  const bool has_tables = std::ranges::any_of(options.paths, [](const std::string& path) {
    return !trace::find_hang_tables(path).empty();
  });
  const auto read_run = trace::read_run(logs);
  const auto paths = options.format == "summary" ? std::vector<std::string>()
                                                 : trace::trace_paths_of(options.paths);
  // A job may hang, or be killed, before its logs hold anything.
  if (!read_run && !has_tables && paths.empty()) return fail(read_run.error().message);
  if (!read_run && !has_tables) say("left out: " + printable(read_run.error().message, "?"));
  const auto run = read_run.value_or(std::nullopt);
  if (options.format == "summary" && !run) {
    return fail(given +
                ": no step log with a step, of which a summary would be. Make one: redline run "
                "--log DIR -- CMD");
  }
  if (paths.empty() && !run && dumps->empty() && !has_tables) {
    return fail(given + ": no training step in its step logs yet, and no traces");
  }
  const int64_t begin_ns = monotonic_ns();
  trace::Summaries summaries;
  trace::Report result;
  if (!paths.empty()) {
    auto read = summaries_of(paths, options);
    if (!read) return fail_unless_interrupted(read.error().message);
    summaries = *std::move(read);
    result = trace::make_report(std::move(summaries.ranks));
    result.load_seconds = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
    for (const trace::ReadError& error : summaries.unreadable) {
      result.unreadable.push_back(error.message);
    }
  }
  result.run = run;
  result.path = given;
  trace::add_hang(result, options.paths, *dumps);
  if (options.timings) print_timings(result, summaries);
  const std::string text = render(result, summaries, options);
  if (options.launcher == "slurm" && interrupt_flag()) return fail_unless_interrupted("");
  return write_output(text, options.output, "-o");
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Say what holds a training run back");
  command
      ->add_option("PATH", options->paths,
                   "Trace files, folders of ranks or of step logs, summaries, or "
                   "dumps of torch's flight recorder as JSON")
      ->required();
  command
      ->add_option("--format", options->format,
                   "text, json, html, or summary: the figures of a whole run by its step logs, as "
                   "flat JSON")
      ->check(CLI::IsMember({"text", "json", "html", "summary"}))
      ->capture_default_str();
  add_output_option(*command, options->output);
  command->add_option("--top", options->top, "Rows of each table in the text report")
      ->check(above_zero)
      ->capture_default_str();
  command->add_flag("--all", options->all, "All rows of each table in the text report");
  command->add_flag("--timings", options->timings,
                    "Say on stderr what loading and each analysis took");
  command
      ->add_option("--launcher", options->launcher,
                   "slurm: the nodes of the Slurm job that this command runs in share the traces")
      ->check(CLI::IsMember({"local", "slurm"}))
      ->capture_default_str();
  add_peak_options(*command, options->peaks);
  add_link_option(*command, options->peaks);
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
