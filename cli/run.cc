// redline run [--config best.json] [--log DIR] -- CMD…: runs a job with the knobs that autotune
// found, and logs its steps.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/format.h"
#include "base/printable.h"
#include "base/secrets.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "machine/launch/command.h"
#include "profiler/request/periodic_windows.h"
#include "profiler/request/record_request.h"
#include "profiler/request/step_log_request.h"
#include "trace/read/step_log_reader.h"
#include "trace/report/run_report.h"
#include "trace/run/ends.h"
#include "trace/run/folder.h"
#include "tuner/space/config.h"
#include "tuner/space/hook_knobs.h"

namespace redline::cli {

namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::string config;
  std::string log;
  std::string every;
  HangOptions hang;
  std::vector<std::string> command;
};

std::string summary(const tuner::Config& config) {
  const std::string text = tuner::config_text(config, ", ");
  return text.empty() ? "no knob to set: the command's own values are the best" : text;
}

/// Says so if the file was found for a command that the given one does not begin with: more
/// arguments, such as those of a longer training, may follow.
void compare_commands(const std::string& file, const std::vector<std::string>& tuned,
                      const std::vector<std::string>& command) {
  const std::vector<std::string> given = without_secrets(command);
  if (std::ranges::mismatch(tuned, given).in1 == tuned.end()) return;
  say(fmt::format("{} was found for another command: {}", file, format_command(tuned)));
}

/// Fills the placeholders of the command and of its environment, and gives the other knobs to the
/// start-up hook. Not 0: the exit status of an error.
int set_knobs(const std::string& file, std::vector<std::string>& command,
              launch::Environment& environment) {
  const auto config = tuner::read_config(file);
  if (!config) {
    return fail(config.error() + ". autotune writes such a file: autotune -o best.json -- CMD");
  }
  if (const auto warning = foreign_writer(file)) say(*warning);
  compare_commands(file, config->command, command);
  const tuner::Config& knobs = config->knobs;
  std::set<std::string> filled;
  for (std::string& word : command) word = tuner::fill_placeholders(word, knobs, &filled);
  for (const auto& [name, value] : launch::Environment::current()) {
    environment.set(name, tuner::fill_placeholders(value, knobs, &filled));
  }
  for (const auto& [name, value] : knobs) {
    if (filled.contains(name)) continue;
    if (const auto known = tuner::check_hook_knob(name, value); !known) {
      return fail(fmt::format(
          "{}: {}. Give the command that was tuned, or set the variable that held {{{}}} in the "
          "search",
          file, known.error(), name));
    }
  }
  if (const auto added = environment.add_python_startup(); !added) return fail(added.error());
  environment.set("REDLINE_KNOBS", tuner::knobs_json(knobs, filled));
  say(fmt::format("{} ({})", summary(knobs), file));
  return 0;
}

/// Says why there is no verdict on the command, whose logs have the name `own`.
void tell_of_no_steps(std::vector<std::string> logs, const std::string& own, int status) {
  std::erase_if(logs, [&](const std::string& path) {
    const auto log = trace::read_step_log(path);
    return log && log->run != own;
  });
  if (!logs.empty()) {
    return say(format_plural(logs.size(), "step log") + " without a training step");
  }
  if (status != 0) {
    return say(
        fmt::format("no step log: the command ended with status {} before a training step "
                    "that Redline could see",
                    status));
  }
  say("no step log: no process of the command made a training step where Redline could see it "
      "(a step has backward() or an optimizer of torch.optim; python -I, -E and -S hide it, and "
      "so do a Python before 3.8, an emptied environment, and PYTHONPATH=src without "
      ":$PYTHONPATH)");
}

/// Says on stderr where the logs are, and what held the run back. Another job may have logged into
/// the same folder meanwhile.
void tell_of_logs(const std::string& folder, const std::vector<std::string>& before,
                  const std::string& own, int status) {
  auto logs = trace::find_step_logs(folder);
  std::erase_if(logs, [&](const std::string& path) {
    return std::ranges::find(before, path) != before.end();
  });
  auto run = trace::read_run(logs, own);
  if (!run) return say(printable(run.error().message, "?"));
  if (!*run) return tell_of_no_steps(std::move(logs), own, status);
  const auto endless = status == 0 ? trace::take_back_deaths(**run) : std::vector<int>();
  std::fputs(trace::run_summary(**run, style_of(STDERR_FILENO)).c_str(), stderr);
  if (!endless.empty()) {
    say(
        fmt::format("the log of {} lacks its end: it could not be written, or a process was killed "
                    "although the command ended with status 0",
                    format_ranks(endless)));
  }
  if (!(*run)->is_latest) {
    return say(
        fmt::format("a later run has its logs in {}, too, and redline report {} tells of it. Give "
                    "each run a folder of its own with --log DIR",
                    folder, format_command({folder})));
  }
  say(fmt::format("{}: redline report {} says more", format_plural(logs.size(), "step log"),
                  format_command({folder})));
}

/// Lets the ranks wait for requests of windows. Not 0: the exit status of an error.
int add_windows(const std::string& folder, launch::Environment& environment) {
  profiler::RecordRequest request;
  request.options.directory = folder;
  request.only_on_request = true;
  const auto added = launch::add_record_request(request, environment);
  return added ? 0 : fail(added.error());
}

int run(const RunOptions& options) {
  std::vector<std::string> command = options.command;
  auto environment = launch::Environment::current();
  if (!options.config.empty()) {
    if (const int status = set_knobs(options.config, command, environment); status != 0) {
      return status;
    }
  }
  std::vector<std::string> logs;
  if (!options.log.empty()) {
    if (const auto ready = launch::prepare_directory(options.log); !ready) {
      return fail(options.log + ": " + ready.error() + ". Choose another folder with --log DIR");
    }
    logs = trace::find_step_logs(options.log);
    if (const auto added = launch::add_step_log(options.log, environment); !added) {
      return fail(added.error());
    }
  }
  std::unique_ptr<watch::HangWatch> hangs;
  if (!options.log.empty()) {
    auto watch = watch_for_hangs(options.hang, fs::absolute(options.log).string(), environment);
    if (!watch) return fail(watch.error());
    hangs = *std::move(watch);
  }
  std::optional<launch::PeriodicWindows> windows;
  if (!options.every.empty()) {
    const std::string window_folder = fs::absolute(options.log).string() + "/windows";
    if (const auto problem = profiler::problem_of_directory(window_folder); !problem.empty()) {
      return fail("--every: " + problem + ". Choose another folder with --log DIR");
    }
    if (const int status = add_windows(window_folder, environment); status != 0) return status;
    windows.emplace(window_folder, *parse_duration(options.every));
  }
  const auto status = run_logged(command, environment);
  const bool was_ended = hangs && hangs->finish();
  const int64_t window_count = windows ? windows->stop() : 0;
  if (!status) {
    return fail(launch::start_problem(command, status.error(), "The command stands after --"));
  }
  if (!options.log.empty()) {
    tell_of_logs(options.log, logs, environment.get("REDLINE_LOG_RUN").value_or(""), *status);
  }
  if (window_count > 0) {
    say(fmt::format("{} with operators in {}/windows", format_plural(window_count, "window"),
                    options.log));
  }
  return was_ended ? watch::kHung : *status;
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(
      "run", "Start a training command with the tuned knobs, with a log of its steps, or both");
  auto options = std::make_shared<RunOptions>();
  command->add_option("--config", options->config, "What autotune wrote: best.json")
      ->option_text("FILE");
  command
      ->add_option("--log", options->log,
                   "Folder for a step log of each rank: what each step took, for the whole job")
      ->option_text("DIR");
  command
      ->add_option("--every", options->every,
                   "With --log: record two steps with their operators each time this long has "
                   "passed, such as 10m, into DIR/windows")
      ->option_text("TIME")
      ->check([](const std::string& text) {
        const auto time = parse_duration(text);
        if (!time) return time.error();
        return *time < std::chrono::seconds(1) ? "at least 1s" : std::string();
      });
  add_hang_options(*command, options->hang, {"report", "abort"}, "--log");
  add_command_words(*command, options->command);
  command->footer(
      "Give --config, --log or both.\n"
      "With --config, {NAME} in the command or in an environment variable becomes that knob's\n"
      "value; the other knobs are set from outside, in each Python process that trains.\n"
      "With --log, no operator is recorded: an hour of ten steps a second takes less than 1 MB.\n"
      "With --every, a window costs the job at most 0.1 % of its time: if windows take long, they\n"
      "come less often. Those of the last hour stay, and one of each hour before.\n"
      "The command's exit status is passed on.\n"
      "Examples:\n"
      "  redline run --config best.json -- torchrun --nproc_per_node 2 train.py\n"
      "  redline run --log logs -- torchrun --nproc_per_node 2 train.py\n"
      "  redline run --log logs --every 10m -- torchrun --nproc_per_node 2 train.py\n"
      "  redline run --config best.json --log logs -- ./train --batch {batch_size}\n"
      "  redline record -o after -- redline run --config best.json -- python train.py");
  command->callback([options, &status] {
    if (!options->every.empty() && options->log.empty()) {
      status = usage("--every needs --log DIR, where its windows go");
    } else if (options->config.empty() && options->log.empty()) {
      status = usage("run needs --config FILE, --log DIR or both");
    } else {
      status = run(*options);
    }
  });
}

}  // namespace redline::cli
