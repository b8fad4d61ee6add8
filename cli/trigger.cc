// redline trigger PID|all: asks running recorded jobs for one more capture.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/integer.h"
#include "cli/command.h"
#include "profiler/request/options.h"
#include "profiler/request/trigger.h"

namespace redline::cli {

namespace {

struct TriggerOptions {
  std::string process;
  int64_t steps = 0;
  std::string folder;
};

tl::expected<std::vector<pid_t>, std::string> find_processes(const std::string& text) {
  if (text == "all") {
    auto processes = launch::all_recorded_processes();
    if (processes.empty()) return tl::unexpected(std::string("no process of yours is recorded"));
    return processes;
  }
  const pid_t process = parse_integer<pid_t>(text).value_or(0);
  if (process <= 0) return tl::unexpected(text + ": neither a process id nor 'all'");
  return launch::recorded_processes(process);
}

int trigger(const TriggerOptions& options) {
  const auto processes = find_processes(options.process);
  if (!processes) return fail(processes.error());
  launch::TriggerRequest request = {.steps = options.steps, .directory = ""};
  if (!options.folder.empty()) {
    std::error_code error;
    request.directory = std::filesystem::absolute(options.folder, error).string();
    if (error) return fail("-o " + options.folder + ": " + error.message());
    const auto problem = profiler::problem_of_directory(request.directory);
    if (!problem.empty()) return fail("-o: " + problem);
  }
  size_t written = 0;
  const auto tell = [&](const launch::TriggerReport& report) {
    for (const std::string& line : {report.progress, report.error}) {
      if (!line.empty()) say(fmt::format("process {}: {}", report.process, line));
    }
    if (report.path.empty()) return;
    ++written;
    std::printf("%s\n", report.path.c_str());
    std::fflush(stdout);
  };
  const auto& interrupted = interrupt_flag();
  launch::trigger(*processes, request, tell, interrupted);
  if (interrupted) return fail("interrupted: captures that have begun will still be written");
  return written == processes->size() ? kDone : kFailed;
}

}  // namespace

void add_trigger(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(
      "trigger", "Capture some steps of a running job that redline record started, right now");
  auto options = std::make_shared<TriggerOptions>();
  command
      ->add_option("PID", options->process,
                   "A recorded process, or one above it such as torchrun (then all its ranks); "
                   "all: every recorded process of yours")
      ->required()
      ->option_text("PID|all");
  command
      ->add_option("--steps", options->steps,
                   "Steps to capture, at most 1,000,000 (the job's own active steps)")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}))
      ->option_text("N");
  command->add_option("-o,--output", options->folder, "Folder of the traces (the job's own)")
      ->option_text("DIR");
  command->footer(
      "Prints the path of each trace when it is written. Processes that use redline.profile or\n"
      "redline::Profiler can be asked, too. kill -USR2 PID does the same without waiting.\n"
      "Examples:\n"
      "  redline trigger 4711 --steps 5\n"
      "  redline trigger all -o now");
  command->callback([options, &status] { status = trigger(*options); });
}

}  // namespace redline::cli
