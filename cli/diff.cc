// redline diff BEFORE AFTER: says what became faster or slower.
#include <unistd.h>

#include <memory>

#include "base/format.h"
#include "cli/command.h"
#include "trace/read/reader.h"
#include "trace/report/diff.h"

namespace redline::cli {
namespace {

struct DiffOptions {
  std::string before;
  std::string after;
  std::string format = "text";
  size_t top = 8;
  bool all = false;
};

int diff(const DiffOptions& options) {
  const auto before = trace::read_traces({options.before});
  if (!before) return fail(before.error().message);
  const auto after = trace::read_traces({options.after});
  if (!after) return fail(after.error().message);
  const trace::Diff result = trace::compare_runs(*before, *after);
  if (options.format == "json") return write_output(trace::diff_json(result), "");
  const trace::TextScope scope{options.all ? trace::TextScope::kAll : options.top};
  return write_output(trace::diff_text(result, style_of(STDOUT_FILENO), scope), "");
}

}  // namespace

void add_diff(CLI::App& app, int& status) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff", "Say what became faster or slower");
  command->add_option("BEFORE", options->before, "A trace file, or a folder of ranks")->required();
  command->add_option("AFTER", options->after, "The same of the later run")->required();
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_option("--top", options->top, "Rows of each table")
      ->check(above_zero)
      ->capture_default_str();
  command->add_flag("--all", options->all, "All rows of each table");
  command->footer(
      "Where the traces say how many samples a step takes (redline record counts them), runs\n"
      "with different batch sizes are compared for the same number of samples.\n"
      "Examples:\n"
      "  redline diff before after\n"
      "  redline diff --format json before/a.pt.trace.json.gz after/a.pt.trace.json.gz");
  command->callback([options, &status] { status = diff(*options); });
}

}  // namespace redline::cli
