// redline diff BEFORE AFTER: says what became faster or slower.
#include <memory>

#include "base/format.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "trace/read/reader.h"
#include "trace/read/recordings.h"
#include "trace/report/run_diff.h"
#include "trace/report/tree_diff.h"
#include "trace/run/folder.h"

namespace redline::cli {
namespace {

struct DiffOptions {
  std::string before;
  std::string after;
  std::string format = "text";
  std::string output;
  size_t top = 8;
  bool all = false;
  bool tree = false;
  GateOptions gate;
};

struct DiffResult {
  std::optional<trace::Diff> windows;
  std::optional<trace::TreeDiff> tree;  ///< if it was asked for
  std::optional<trace::RunDiff> runs;
  bool has_logs = false;  ///< `runs` is by step logs
};

template <typename Value>
using Result = tl::expected<Value, std::string>;

/// What `path` stands for.
struct Side {
  explicit Side(const std::string& path)
      : logs(trace::step_logs_of({path})),
        has_only_logs(!logs.empty() && trace::trace_paths_of({path}).empty()),
        traces(trace::read_traces({path})) {}

  /// The files of the traces that count.
  [[nodiscard]] std::vector<std::string> files() const {
    return has_only_logs || !traces ? std::vector<std::string>() : trace::paths_of(*traces);
  }
  [[nodiscard]] auto figures() const { return trace::read_run_figures(logs, files()); }

  std::vector<std::string> logs;
  bool has_only_logs;
  tl::expected<std::vector<std::shared_ptr<const trace::Trace>>, trace::ReadError> traces;
};

/// nullopt: only the traces, which are there, too, can be compared.
Result<std::optional<trace::RunDiff>> diff_of_logs(const DiffOptions& options, const Side& before,
                                                   const Side& after, bool has_traces) {
  const auto earlier = before.figures(), later = after.figures();
  std::optional<std::string> why_not;
  if (!earlier) {
    why_not = earlier.error().message;  // the log of a short recording may have too few steps
  } else if (!later) {
    why_not = later.error().message;
  } else {
    why_not = trace::why_not_comparable(*earlier, *later);
  }
  if (why_not) {
    if (!has_traces || options.gate.limits.any()) return tl::unexpected(*why_not);
    say("only the traces are compared. " + *why_not);
    return std::nullopt;
  }
  return trace::make_run_diff(options.before, options.after,
                              trace::change_between(*earlier, *later), options.gate.limits);
}

tl::unexpected<std::string> unlike(const std::string& with_logs, const std::string& with_traces) {
  return tl::unexpected(with_logs + " has only step logs, " + with_traces +
                        " only traces. Compare logs with logs, or traces with traces");
}

Result<DiffResult> diff_of(const DiffOptions& options) {
  DiffResult result;
  const Side before(options.before), after(options.after);
  if (!before.files().empty()) say_left_out({options.before}, before.files());
  if (!after.files().empty()) say_left_out({options.after}, after.files());
  if (!before.logs.empty() && !after.logs.empty()) {
    const bool has_traces = !before.has_only_logs && !after.has_only_logs;
    auto runs = diff_of_logs(options, before, after, has_traces);
    if (!runs) return tl::unexpected(runs.error());
    result.runs = std::move(*runs);
    if (!has_traces) return result;
  }
  if (before.has_only_logs && after.traces) return unlike(options.before, options.after);
  if (after.has_only_logs && before.traces) return unlike(options.after, options.before);
  if (!before.traces && !before.has_only_logs) {
    return tl::unexpected(before.traces.error().message);
  }
  if (!after.traces) return tl::unexpected(after.traces.error().message);
  const trace::Report earlier = trace::make_report(*before.traces);
  const trace::Report later = trace::make_report(*after.traces);
  result.windows = trace::compare_runs(earlier, later);
  if (options.tree) result.tree = trace::compare_trees(earlier, later);
  if (result.runs) {
    result.has_logs = true;
    result.runs->windows = result.windows;
    return result;
  }
  auto was = trace::run_figures(earlier), is = trace::run_figures(later);
  if (was && is && !result.windows->is_step_beside_trace()) {
    result.runs = trace::make_run_diff(options.before, options.after,
                                       trace::change_between({*was}, {*is}), options.gate.limits);
    result.runs->windows = result.windows;
  }
  return result;
}

std::string text_of(const DiffResult& result, const DiffOptions& options) {
  const TextStyle style = text_style(options.output);
  const trace::TextScope scope{options.all ? trace::TextScope::kAll : options.top};
  if (!result.windows) return trace::run_diff_text(*result.runs, style);
  const std::string windows =
      (result.tree ? trace::tree_diff_text(*result.tree, style, scope) : "") +
      trace::diff_text(*result.windows, style, scope);
  if (!result.has_logs) {
    return windows + (result.runs ? trace::gate_text(*result.runs, style) : "");
  }
  return trace::run_diff_text(*result.runs, style) + "\n" + windows;
}

int diff(const DiffOptions& options) {
  if (options.tree && options.format != "text" && options.format != "json") {
    return usage("--tree: " + options.format + " has no place for it. Use --format text or json");
  }
  if (would_overwrite_input(options.output, {options.before, options.after})) return kFailed;
  const auto result = diff_of(options);
  if (!result) return fail(result.error());
  if (options.tree && !result->tree) {
    return fail(options.before + ", " + options.after +
                ": --tree compares traces, and a folder has only step logs");
  }
  if (!result->runs && (options.gate.limits.any() || options.format == "markdown" ||
                        options.format == "benchmark-action")) {
    const std::string both = options.before + ", " + options.after;
    if (result->windows->is_step_beside_trace()) {
      return fail(both +
                  ": one side marks no steps, and a step does not compare with a whole trace");
    }
    return fail(both +
                ": a trace with one step does not show how much steps differ. Record more steps");
  }
  if (result->runs) {
    if (const auto unknown = trace::unknown_memory(*result->runs)) return fail(*unknown);
  }
  std::string text;
  if (options.format == "json") {
    text = trace::diff_json(result->windows ? &*result->windows : nullptr,
                            result->runs ? &*result->runs : nullptr,
                            result->tree ? &*result->tree : nullptr);
  } else if (options.format == "markdown") {
    text = trace::run_diff_markdown(*result->runs);
  } else if (options.format == "benchmark-action") {
    text = trace::run_diff_benchmark(*result->runs);
  } else {
    text = text_of(*result, options);
  }
  if (const int status = write_output(text, options.output, "-o"); status != kDone) return status;
  return result->runs ? status_of(result->runs->gate.outcome(), options.gate) : kDone;
}

}  // namespace

void add_diff(CLI::App& app, int& status) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff", "Say what became faster or slower");
  command
      ->add_option("BEFORE", options->before, "A trace file, or a folder of ranks or of step logs")
      ->required();
  command->add_option("AFTER", options->after, "The same of the later run")->required();
  command->add_option("--format", options->format, "text, json, markdown or benchmark-action")
      ->check(CLI::IsMember({"text", "json", "markdown", "benchmark-action"}))
      ->capture_default_str();
  add_output_option(*command, options->output);
  command->add_option("--top", options->top, "Rows of each table")
      ->check(above_zero)
      ->capture_default_str();
  command->add_flag("--all", options->all, "All rows of each table");
  command->add_flag("--tree", options->tree,
                    "Match modules and operators, also where kernels have other names");
  add_gate_options(*command, options->gate);
  command->footer(
      "Where both folders have step logs, it compares whole runs; a folder may hold several runs.\n"
      "With one run in each nobody knows how much equal runs differ, so the interval is wide;\n"
      "redline compare makes several.\n"
      "Where the traces say how many samples a step takes (redline record counts them), runs\n"
      "with different batch sizes are compared for the same number of samples.\n"
      "Examples:\n"
      "  redline diff before after\n"
      "  redline diff --tree eager compiled\n"
      "  redline diff --fail-slower 5% --fail-memory 5% logs/base logs/new\n"
      "  redline diff --format markdown logs/base logs/new >> $GITHUB_STEP_SUMMARY\n"
      "  redline diff --format json before/a.pt.trace.json.gz after/a.pt.trace.json.gz");
  command->callback([options, &status] { status = diff(*options); });
}

}  // namespace redline::cli
