// redline what-if PATH…: says how long a step would take if something were otherwise.
#include <memory>

#include "cli/command.h"
#include "cli/shared_options.h"
#include "trace/read/reader.h"
#include "trace/report/report.h"
#include "trace/report/what_if_report.h"
#include "trace/run/folder.h"

namespace redline::cli {
namespace {

struct WhatIfOptions {
  std::vector<std::string> paths;
  std::vector<std::string> knobs;
  std::string format = "text";
  std::string output;
  trace::GivenPeaks peaks;
};

int what_if(const WhatIfOptions& options) {
  if (would_overwrite_input(options.output, options.paths)) return kFailed;
  std::vector<trace::WhatIfKnob> knobs;
  for (const std::string& text : options.knobs) {
    auto knob = trace::read_what_if_knob(text);
    if (!knob) return usage("--knob: " + knob.error());
    knobs.push_back(std::move(*knob));
  }
  auto paths = trace::trace_paths_of(options.paths);
  if (paths.empty()) paths = options.paths;  // reading them says what is missing
  const auto traces = trace::read_traces(paths);
  if (!traces) return fail(traces.error().message);
  say_left_out(paths, trace::paths_of(*traces));
  trace::Report report = trace::make_report(*traces);
  std::vector<const trace::Analysis*> ranks;
  for (const size_t last_of_rank : report.compared) {
    trace::Analysis& analysis = report.analyses[last_of_rank];
    if (!analysis.unrecorded_gpu) options.peaks.apply_to(analysis.peaks);
    ranks.push_back(&analysis);
  }
  const auto prediction = trace::what_if(ranks, knobs, report.comparison);
  if (!prediction) return fail(options.paths.front() + ": " + prediction.error());
  const std::string title = trace::title_of(report);
  if (options.format == "json") {
    return write_output(trace::what_if_json(title, knobs, *prediction), options.output, "-o");
  }
  const TextStyle style = text_style(options.output);
  return write_output(trace::what_if_text(title, knobs, *prediction, style), options.output, "-o");
}

}  // namespace

void add_what_if(CLI::App& app, int& status) {
  const auto options = std::make_shared<WhatIfOptions>();
  CLI::App* command =
      app.add_subcommand("what-if", "Say how long a step would take if something were otherwise");
  command->add_option("PATH", options->paths, "A trace file, or a folder of ranks")->required();
  command
      ->add_option("--knob", options->knobs,
                   "What changes: loader=free, loader=2x, collectives=2x, kernels:REGEX=1.5x, "
                   "amp=bf16, batch_size=2x, straggler=cured. Several change together")
      ->required()
      ->allow_extra_args(false)
      ->type_name("KNOB=VALUE");
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  add_output_option(*command, options->output);
  add_peak_options(*command, options->peaks);
  command->footer(
      "The recording is replayed with the change: what waited for it comes earlier, and what\n"
      "becomes the longest chain of work then decides. The interval holds what the recording\n"
      "leaves open.\n"
      "Examples:\n"
      "  redline what-if traces --knob loader=free\n"
      "  redline what-if traces --knob collectives=2x --knob kernels:gemm=1.5x\n"
      "  redline what-if --format json traces --knob batch_size=2x | jq .speedup");
  command->callback([options, &status] { status = what_if(*options); });
}

}  // namespace redline::cli
