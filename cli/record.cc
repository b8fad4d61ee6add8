// redline record -- CMD…: runs a training command unmodified and leaves one trace a rank.
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "base/format.h"
#include "cli/command.h"
#include "machine/launch/run_command.h"
#include "profiler/request/record_request.h"

namespace redline::cli {

namespace {

struct RecordOptions {
  std::string schedule;
  profiler::SourceOptions sources;
  bool no_cpu = false;
  bool no_gpu = false;
  uint64_t max_size = 0;
  uint64_t memory_budget = launch::RecordRequest().memory_budget_bytes;
  double ring_seconds = 0;
  double slow_step = launch::RecordRequest().slow_step;
  std::vector<int64_t> ranks;
  std::string step_marker;
  std::string folder = "traces";
  std::vector<std::string> command;
};

void say(const std::string& line) { std::fprintf(stderr, "redline: %s\n", line.c_str()); }

int usage(const std::string& message) {
  say(message);
  return kUsage;
}

int record(const RecordOptions& options) {
  if (options.no_cpu && options.no_gpu)
    return usage("--no-cpu --no-gpu: nothing would be recorded");
  const auto schedule = launch::parse_schedule(options.schedule);
  if (!schedule) return usage("--schedule " + options.schedule + ": " + schedule.error());
  std::error_code error;
  const std::string directory = std::filesystem::absolute(options.folder, error).string();
  if (error) return fail("-o '" + options.folder + "': " + error.message());
  if (const auto ready = launch::prepare_directory(directory); !ready) {
    return fail(options.folder + ": " + ready.error() + ". Choose another folder with -o DIR");
  }
  auto environment = launch::Environment::current();
  profiler::SourceOptions sources = options.sources;
  sources.record_cpu = !options.no_cpu;
  sources.record_gpu = !options.no_gpu;
  const launch::RecordRequest request{.directory = directory,
                                      .schedule = *schedule,
                                      .sources = sources,
                                      .memory_budget_bytes = options.memory_budget,
                                      .ring_seconds = options.ring_seconds,
                                      .slow_step = options.slow_step,
                                      .ranks = options.ranks,
                                      .step_marker = options.step_marker,
                                      .max_bytes = options.max_size};
  if (const auto added = launch::add_record_request(request, environment); !added) {
    return fail(added.error() + ". Build or install Redline whole: ./scripts/setup");
  }
  if (const auto tool = launch::other_nvtx_tool(environment)) {
    say("NVTX ranges go to " + *tool + ", as NVTX_INJECTION64_PATH says, and not into the trace");
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

void add_sources(CLI::App& command, profiler::SourceOptions& sources) {
  command.add_flag("--shapes", sources.record_shapes,
                   "Input shapes, types and scalar values of each operator too");
  command.add_flag("--memory", sources.profile_memory,
                   "Each allocation and release of tensors too");
  command.add_flag("--flops", sources.with_flops,
                   "Estimated floating-point operations of each operator too");
  command.add_flag("--stacks", sources.with_stack,
                   "Python functions, or the C++ call stack of each operator, too");
  command.add_flag("--modules", sources.with_modules,
                   "The TorchScript modules that operators belong to, too");
}

void add_devices(CLI::App& command, RecordOptions& options) {
  command.add_flag("--no-cpu", options.no_cpu, "Without operators: GPUs, annotations and steps");
  command.add_flag("--no-gpu", options.no_gpu, "Without what GPUs do");
}

void add_host_samples(CLI::App& command, profiler::SourceOptions& sources) {
  command
      .add_option("--host-samples", sources.host_samples_hz,
                  "Samples a second of cores, memory, disk and DataLoader workers (10); 0: none")
      ->check(CLI::Range(0, 100))
      ->option_text("HZ");
}

void add_sizes(CLI::App& command, RecordOptions& options) {
  const auto at_least_1m = [](const std::string& bytes) -> std::string {
    return std::stod(bytes) < 1048576 ? "must be at least 1MB" : "";
  };
  command
      .add_option(
          "--max-size", options.max_size,
          "Most text in a trace before compression, e.g. 500MB; what comes later is counted")
      ->transform(CLI::AsSizeValue(false))
      ->check(at_least_1m)
      ->option_text("SIZE");
  command
      .add_option("--memory-budget", options.memory_budget,
                  "Most memory for events that wait to be written (64MB)")
      ->transform(CLI::AsSizeValue(false))
      ->check(at_least_1m)
      ->option_text("SIZE");
}

void add_ring(CLI::App& command, RecordOptions& options) {
  const std::map<std::string, double> units = {{"ms", 0.001}, {"s", 1}, {"m", 60}};
  auto* ring =
      command
          .add_option("--ring", options.ring_seconds,
                      "Flight recorder: keep only the last seconds, e.g. 30s, and write them for a "
                      "slow step, a hang, a crash, SIGTERM or redline trigger")
          ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_INSENSITIVE, "TIME"))
          ->check(CLI::Range(0.001, 86'400.0))
          ->option_text("TIME");
  ring->excludes(command.get_option("--schedule"));
  command
      .add_option("--slow-step", options.slow_step,
                  "With --ring: a step of more than N times the median is slow (3); 0: none is")
      ->check([](const std::string& text) -> std::string {
        const double times = number_in(text);
        return times == 0 || times > 1 ? "" : "must be above 1, or 0, not '" + text + "'";
      })
      ->needs(ring)
      ->option_text("N");
}

void add_selection(CLI::App& command, RecordOptions& options) {
  command
      .add_option("--ranks", options.ranks,
                  "Record only these ranks, e.g. 0,3; the others cost nothing")
      ->delimiter(',')
      ->check([](const std::string& rank) -> std::string {
        return number_in(rank) >= 0 ? "" : "must be ranks such as 0,3, not '" + rank + "'";
      })
      ->option_text("LIST");
  command
      .add_option("--step-marker", options.step_marker,
                  "A step begins at each range or mark of this name (NVTX, record_function or "
                  "redline::range), not at the optimizer")
      ->option_text("NAME");
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
  add_sources(*command, options->sources);
  add_devices(*command, *options);
  add_host_samples(*command, options->sources);
  add_sizes(*command, *options);
  add_ring(*command, *options);
  add_selection(*command, *options);
  command->add_option("-o,--output", options->folder, "Folder of the traces (traces)")
      ->option_text("DIR");
  command->add_option("CMD", options->command, "The command and its arguments, after --")
      ->required()
      ->option_text("CMD...");
  command->positionals_at_end();  // what follows the command's name is the command's
  command->footer(
      "A step ends where the optimizer steps; a command without optimizer is recorded whole.\n"
      "The command's exit status is passed on.\n"
      "Examples:\n"
      "  redline record -- python train.py --epochs 1\n"
      "  redline record -o traces -- torchrun --nproc_per_node 2 train.py\n"
      "  redline record --schedule wait=10,active=5 -- python train.py\n"
      "  redline record --ring 30s --slow-step 2 -- python train.py\n"
      "  redline record --shapes -- ./build/mnist");
  command->callback([options, &status] { status = record(*options); });
}

}  // namespace redline::cli
