#include <malloc.h>

#include "base/help_formatter.h"
#include "base/usage_problem.h"
#include "cli/command.h"

namespace redline::cli {
namespace {

constexpr AddCommand kCommands[] = {
    add_record,  add_trigger, add_run,   add_report, add_summarize, add_diff,   add_compare,
    add_what_if, add_view,    add_merge, add_export, add_monitor,   add_doctor,
};

int run(int argc, char** argv) {
  CLI::App app(
      "Redline records PyTorch and LibTorch training, says what holds it back, and proves the "
      "gain.",
      "redline");
  format_help(app);
  app.set_version_flag("--version", "redline " REDLINE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  redline record -o traces -- torchrun --nproc_per_node 2 train.py\n"
      "  redline report traces\n"
      "  redline diff before after\n"
      "'redline COMMAND --help' has the options of each. autotune and redline-viewer stand beside "
      "it.");
  int status = kDone;
  for (const AddCommand add : kCommands) add(app, status);
  const auto ended = ended_by_parsing(app, argc, argv, usage);
  return ended.value_or(status);
}

}  // namespace
}  // namespace redline::cli

int main(int argc, char** argv) {
  // Without this glibc learns from the first large vector that is freed to keep such memory.
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  return redline::cli::run(argc, argv);
}
