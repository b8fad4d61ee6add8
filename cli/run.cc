// redline run --config best.json -- CMD…: runs a job with the knobs that autotune found.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <set>

#include "cli/command.h"
#include "machine/launch/command.h"
#include "tuner/space/config.h"
#include "tuner/space/hook_knobs.h"

namespace redline::cli {

namespace {

struct RunOptions {
  std::string config;
  std::vector<std::string> command;
};

/// The knobs as text, such as "batch_size 256, amp bf16".
std::string summary(const tuner::Config& config) {
  std::string text;
  for (const auto& [name, value] : config) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  }
  return text.empty() ? "no knob to set: the command's own values are the best" : text;
}

int run(const RunOptions& options) {
  const auto config = tuner::read_config(options.config);
  if (!config) {
    return fail(config.error() + ". autotune writes such a file: autotune -o best.json -- CMD");
  }
  std::set<std::string> filled;
  std::vector<std::string> command;
  for (const std::string& word : options.command) {
    command.push_back(tuner::fill_placeholders(word, *config, &filled));
  }
  launch::Environment environment;
  for (const auto& [name, value] : launch::Environment::current()) {
    environment.set(name, tuner::fill_placeholders(value, *config, &filled));
  }
  for (const auto& [name, value] : *config) {
    if (filled.contains(name)) continue;
    if (const auto known = tuner::check_hook_knob(name, value); !known) {
      return fail(options.config + ": " + known.error() + ". Give the command that was tuned");
    }
  }
  if (!environment.add_python_startup()) {
    return fail("its Python files are missing. Build or install Redline whole: ./scripts/setup");
  }
  environment.set("REDLINE_KNOBS", tuner::knobs_json(*config, filled));
  std::fprintf(stderr, "redline: %s (%s)\n", summary(*config).c_str(), options.config.c_str());
  const auto status = launch::run_command(command, environment);
  if (!status)
    return fail(command.front() + ": " + status.error() + ". The command stands after --");
  return *status;
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("run", "Start a training command with the tuned knobs");
  auto options = std::make_shared<RunOptions>();
  command->add_option("--config", options->config, "What autotune wrote: best.json")
      ->required()
      ->option_text("FILE");
  command->add_option("CMD", options->command, "The command and its arguments, after --")
      ->required()
      ->option_text("CMD...");
  command->positionals_at_end();  // what follows the command's name is the command's
  command->footer(
      "{NAME} in the command or in an environment variable becomes that knob's value; the other\n"
      "knobs are set from outside, in each Python process that trains.\n"
      "The command's exit status is passed on.\n"
      "Examples:\n"
      "  redline run --config best.json -- torchrun --nproc_per_node 2 train.py\n"
      "  redline run --config best.json -- ./train --batch {batch_size}\n"
      "  redline record -o after -- redline run --config best.json -- python train.py");
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace redline::cli
