// redline compare --base 'CMD' --new 'CMD': runs both in turns and says which is slower.
#include "compare/turns.h"

#include <unistd.h>

#include <memory>

#include "base/file.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/shared_options.h"

namespace redline::cli {
namespace {

constexpr int kInterrupted = 130;  // as a shell says of a command that Ctrl-C ended

struct CompareOptions {
  compare::Plan plan;
  std::string format = "text";
  GateOptions gate;
};

std::string render(const trace::RunDiff& diff, const std::string& format) {
  if (format == "json") return trace::diff_json(diff.windows ? &*diff.windows : nullptr, &diff);
  if (format == "markdown") return trace::run_diff_markdown(diff);
  if (format == "benchmark-action") return trace::run_diff_benchmark(diff);
  return trace::run_diff_text(diff, style_of(STDOUT_FILENO));
}

int interrupted(const std::string& what) {
  say("interrupted: " + what);
  return kInterrupted;
}

int compare_commands(CompareOptions options) {
  std::optional<ScratchFolder> scratch;  // for logs that nobody wants
  if (options.plan.folder.empty()) options.plan.folder = scratch.emplace("redline-compare").path();
  if (options.plan.folder.empty()) return fail("no temporary folder can be made. Give one: -o DIR");
  options.plan.limits = options.gate.limits;
  ProgressBar bar("comparing");
  const auto answer =
      compare::compare_in_turns(options.plan, interrupt_flag(),
                                [&](uint64_t done, uint64_t total) { bar.show(done, total); });
  if (!answer) return fail(answer.error());
  if (!answer->diff) return interrupted("before both commands had run");
  if (const int status = write_output(render(*answer->diff, options.format), ""); status != kDone) {
    return status;
  }
  if (answer->is_interrupted) return interrupted("these are the runs so far");
  if (!answer->no_windows.empty()) {
    say("which operator changed is not known: " + answer->no_windows);
  }
  if (const auto unknown = trace::unknown_memory(*answer->diff)) return fail(*unknown);
  return status_of(answer->diff->gate.outcome(), options.gate);
}

}  // namespace

void add_compare(CLI::App& app, int& status) {
  auto* command =
      app.add_subcommand("compare", "Run two commands in turns and say which is slower");
  auto options = std::make_shared<CompareOptions>();
  command->add_option("--base", options->plan.base, "The command as it was")
      ->required()
      ->option_text("'CMD'");
  command->add_option("--new", options->plan.next, "The command as it is now")
      ->required()
      ->option_text("'CMD'");
  command->add_option("-n,--runs", options->plan.pairs, "Runs of each, at most")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}))
      ->capture_default_str();
  add_gate_options(*command, options->gate);
  command->add_option("--format", options->format, "text, json, markdown or benchmark-action")
      ->check(CLI::IsMember({"text", "json", "markdown", "benchmark-action"}))
      ->capture_default_str();
  command
      ->add_option("-o,--output", options->plan.folder,
                   "Folder to keep the step logs, traces and output of the runs in")
      ->option_text("DIR");
  command->footer(
      "Each command is one string for the shell, /bin/sh, and runs as under redline run --log.\n"
      "They take turns: of each two pairs of runs one begins with the base and one with the new\n"
      "command, by chance. After three runs of each it ends as soon as the answer is sure. If the\n"
      "speed changed, one more run of each is recorded to name the operator. What the commands\n"
      "print goes to files; a failing command ends the comparison.\n"
      "Exit status: 0 no change beyond a limit, 3 surely beyond one, 4 cannot tell yet.\n"
      "Examples:\n"
      "  redline compare --base 'python old.py' --new 'python new.py'\n"
      "  redline compare -n 8 --fail-slower 5% --fail-memory 5% -o runs \\\n"
      "    --base 'cd ../main && python train.py' --new 'python train.py'\n"
      "  redline compare --format markdown --base 'python train.py' \\\n"
      "    --new 'python train.py --fused' >> $GITHUB_STEP_SUMMARY");
  command->callback([options, &status] { status = compare_commands(*options); });
}

}  // namespace redline::cli
