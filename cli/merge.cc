// redline merge PATH… -o FILE: writes one trace of all ranks, on one clock.
#include "trace/write/merge.h"

#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "base/format.h"
#include "cli/command.h"
#include "trace/emit/spooled_file.h"
#include "trace/read/reader.h"

namespace redline::cli {
namespace {

struct MergeCommand {
  std::vector<std::string> paths;
  std::string output;
  bool keep_clocks = false;
};

std::string describe(const trace::MergedRank& rank, const trace::MergedRank& reference,
                     bool keep_clocks) {
  if (keep_clocks) return rank.label + "  its own clock\n";
  if (&rank == &reference) return rank.label + "  the clock of all\n";
  if (!rank.clock) {
    return rank.label + "  its own clock: no collective in common with " + reference.label + "\n";
  }
  const trace::ClockOffset& clock = *rank.clock;
  if (clock.pairs == 0) return fmt::format("{}  {}, one clock\n", rank.label, offset_text(clock));
  std::string line = fmt::format("{}  {} by {}", rank.label, offset_text(clock),
                                 format_plural(clock.pairs, "collective"));
  if (clock.outliers > 0) line += fmt::format(" ({} left out)", clock.outliers);
  if (clock.drift != 0) line += fmt::format(", drift {:+.2f} ppm", clock.drift * 1e6);
  return line + "\n";
}

int merge(const MergeCommand& options) {
  const auto& interrupted = interrupt_flag();
  if (options.output.empty()) return usage("-o: names no file. Example: -o all.pt.trace.json.gz");
  if (would_overwrite_input(options.output, options.paths)) return kFailed;
  // Checked before the traces are read, which may take long.
  if (!may_become_file(options.output)) {
    return fail(options.output + ": is not a file. Choose another file with -o");
  }
  if (const auto problem = trace::SpooledFile::problem_of_name(options.output); !problem.empty()) {
    return fail(problem);
  }
  trace::ReadOptions read;
  read.cancel = &interrupted;
  const auto traces = trace::read_traces(options.paths, read);
  if (!traces) return fail_unless_interrupted(traces.error().message);
  say_left_out(options.paths, trace::paths_of(*traces));
  trace::MergeOptions merge;
  merge.align = !options.keep_clocks;
  merge.cancel = &interrupted;
  ProgressBar bar("merging");
  merge.progress = [&](uint64_t done, uint64_t total) { bar.show(done, total); };
  const auto ranks = trace::merge_traces(*traces, options.output, merge);
  if (!ranks) return fail_unless_interrupted(ranks.error() + ". Choose another file with -o");
  std::string text;
  for (const trace::MergedRank& rank : *ranks) {
    text += describe(rank, trace::reference_of(*ranks), options.keep_clocks);
  }
  return write_output(text, "");
}

}  // namespace

void add_merge(CLI::App& app, int& status) {
  const auto options = std::make_shared<MergeCommand>();
  CLI::App* command =
      app.add_subcommand("merge", "Make one trace of all ranks, on the clock of the first");
  command->add_option("PATH", options->paths, "Trace files, or folders of ranks")->required();
  command->add_option("-o,--output", options->output, "The file to write; gzip if it ends in .gz")
      ->required();
  command->add_flag("--keep-clocks", options->keep_clocks, "Leave every rank's times as they are");
  command->footer(
      "Clocks are aligned by the collectives of all ranks, which end at the same moment on each.\n"
      "Every offset is printed with its uncertainty; the file has them, too (redline_merge).\n"
      "Examples:\n"
      "  redline merge traces -o all.pt.trace.json.gz\n"
      "  redline merge rank0.json rank1.json -o both.json");
  command->callback([options, &status] { status = merge(*options); });
}

}  // namespace redline::cli
