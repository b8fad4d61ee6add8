// redline summarize PATH…: what a report needs of each rank, as a file.
#include <charconv>
#include <memory>

#include "cli/command.h"
#include "cli/shared_options.h"
#include "trace/summary/summarize.h"
#include "trace/summary/summary_file.h"

namespace redline::cli {
namespace {

struct SummarizeCommand {
  std::vector<std::string> paths;
  std::string output;
  std::string part = "1/1";
  trace::SummarizeOptions how;
};

// Reads "2/4": the second of four parts.
bool read_part(const std::string& text, trace::SummarizeOptions& how) {
  const char* const end = text.data() + text.size();
  const auto part = std::from_chars(text.data(), end, how.part);
  if (part.ec != std::errc() || part.ptr == end || *part.ptr != '/') return false;
  const auto parts = std::from_chars(part.ptr + 1, end, how.parts);
  return parts.ec == std::errc() && parts.ptr == end && how.part >= 1 && how.part-- <= how.parts;
}

int summarize(SummarizeCommand command) {
  if (!read_part(command.part, command.how)) {
    return usage("--part: '" + command.part + "' is no part. Give 2/4 for the second of four");
  }
  if (would_overwrite_input(command.output, command.paths)) return kFailed;
  command.how.cancel = &interrupt_flag();
  const auto summaries = trace::summarize(command.paths, command.how);
  if (!summaries) return fail_unless_interrupted(summaries.error().message);
  // Where several machines share the work, a part may be unreadable as a whole.
  if (command.how.parts == 1 && summaries->ranks.empty() && !summaries->unreadable.empty()) {
    return fail(summaries->unreadable.front().message);
  }
  say_left_out({}, {}, summaries->unreadable);
  std::string lines;
  for (const trace::RankSummary& summary : summaries->ranks) lines += trace::summary_line(summary);
  for (const trace::ReadError& error : summaries->unreadable) {
    lines += trace::unreadable_line(error);
  }
  return write_output(lines, command.output, "-o");
}

}  // namespace

void add_summarize(CLI::App& app, int& status) {
  const auto options = std::make_shared<SummarizeCommand>();
  CLI::App* command =
      app.add_subcommand("summarize", "Write what a report needs of each rank's trace");
  command
      ->add_option("PATH", options->paths, "Trace files, folders of ranks, or files of summaries")
      ->required();
  add_output_option(*command, options->output);
  command
      ->add_option("--part", options->part,
                   "Only a part of the files, so that several machines share the work: 2/4 is the "
                   "second of four")
      ->capture_default_str();
  add_peak_options(*command, options->how.peaks);
  add_link_option(*command, options->how.peaks);
  command->footer(
      "redline report reads summaries as it reads traces. Files of summaries may be joined.\n"
      "Examples:\n"
      "  redline summarize -o a.summary.jsonl traces/rank0*\n"
      "  redline report *.summary.jsonl");
  command->callback([options, &status] { status = summarize(*options); });
}

}  // namespace redline::cli
