// redline record -- CMD…: runs a training command unmodified and leaves one trace a rank.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "profiler/launch/record_request.h"
#include "profiler/launch/run_command.h"

namespace redline::cli {

namespace {

struct RecordOptions {
  std::string schedule;
  bool shapes = false;
  std::string folder = "traces";
  std::vector<std::string> command;
};

void say(const std::string& line) { std::fprintf(stderr, "redline: %s\n", line.c_str()); }

int usage(const std::string& message) {
  say(message);
  return kUsage;
}

int record(const RecordOptions& options) {
  const auto schedule = launch::parse_schedule(options.schedule);
  if (!schedule) return usage("--schedule " + options.schedule + ": " + schedule.error());
  const std::string directory = std::filesystem::absolute(options.folder).string();
  if (const auto ready = launch::prepare_directory(directory); !ready) {
    return fail(options.folder + ": " + ready.error() + ". Choose another folder with -o DIR");
  }
  auto environment = launch::Environment::current();
  const launch::RecordRequest request{
      .directory = directory, .schedule = *schedule, .record_shapes = options.shapes};
  if (const auto added = launch::add_record_request(request, environment); !added) {
    return fail(added.error() + ". Build or install Redline whole: ./scripts/setup");
  }
  const launch::RecordNotes notes(directory);
  environment.set("REDLINE_NOTES", notes.path());
  const auto before = launch::list_traces(directory);
  const auto status = launch::run_command(options.command, environment);
  if (!status) {
    return fail(options.command.front() + ": " + status.error() +
                ". The command to record stands after --");
  }
  const auto traces = launch::new_traces(before, launch::list_traces(directory));
  for (const auto& line : launch::summarise_recording(options.folder, traces, notes.read())) {
    say(line);
  }
  return *status;
}

}  // namespace

void add_record(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(
      "record", "Run any Python or LibTorch training command and write one trace a rank");
  auto options = std::make_shared<RecordOptions>();
  command
      ->add_option(
          "--schedule", options->schedule,
          "Which steps: skip_first, then wait, warmup, active, repeat times (0: for ever); "
          "what is left out keeps skip_first=0,wait=1,warmup=1,active=3,repeat=1")
      ->option_text("LIST");
  command->add_flag("--shapes", options->shapes, "Input shapes and types of each operator too");
  command->add_option("-o,--output", options->folder, "Folder of the traces (traces)")
      ->option_text("DIR");
  command->add_option("CMD", options->command, "The command and its arguments, after --")
      ->required()
      ->option_text("CMD...");
  command->footer(
      "A step ends where the optimizer steps; a command without optimizer is recorded whole.\n"
      "The command's exit status is passed on.\n"
      "Examples:\n"
      "  redline record -- python train.py --epochs 1\n"
      "  redline record -o traces --schedule wait=10,active=5 -- "
      "torchrun --nproc_per_node 2 train.py\n"
      "  redline record --shapes -- ./build/mnist");
  command->callback([options, &status] { status = record(*options); });
}

}  // namespace redline::cli
