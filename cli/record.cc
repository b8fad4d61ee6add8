// redline record -- CMD…: runs an unmodified training command and writes one trace for each rank.
#include <filesystem>
#include <memory>

#include "base/format.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "machine/launch/command.h"
#include "profiler/request/record_request.h"
#include "profiler/request/recording_summary.h"
#include "profiler/request/step_log_request.h"
#include "trace/read/recordings.h"

namespace redline::cli {

namespace {

struct RecordOptions {
  profiler::RecordRequest request;
  std::string schedule;
  std::string folder = "traces";
  HangOptions hang;
  std::vector<std::string> command;
};

int record(RecordOptions& options) {
  profiler::RecordRequest& request = options.request;
  if (!request.options.record_cpu && !request.options.record_gpu)
    return usage("--no-cpu --no-gpu: nothing would be recorded");
  const auto schedule = launch::parse_schedule(options.schedule);
  if (!schedule) return usage("--schedule " + options.schedule + ": " + schedule.error());
  std::error_code error;
  const std::string directory = std::filesystem::absolute(options.folder, error).string();
  if (error) return fail("-o '" + options.folder + "': " + error.message());
  if (const auto problem = profiler::problem_of_directory(directory); !problem.empty()) {
    return fail("-o: " + problem + ". Choose another folder with -o DIR");
  }
  if (const auto ready = launch::prepare_directory(directory); !ready) {
    return fail(options.folder + ": " + ready.error() + ". Choose another folder with -o DIR");
  }
  request.options.directory = directory;
  if (request.options.ring_seconds == 0) request.schedule = *schedule;
  auto environment = launch::Environment::current();
  auto added = launch::add_record_request(request, environment);
  if (added) added = launch::add_step_log(directory, environment);
  if (!added) return fail(added.error());
  if (const auto tool = launch::other_nvtx_tool(environment)) {
    say("NVTX ranges go to " + *tool + ", as NVTX_INJECTION64_PATH says, and not into the trace");
  }
  const launch::RecordNotes notes(directory);
  environment.set("REDLINE_NOTES", notes.path());
  const auto before = launch::list_traces(directory);
  std::unique_ptr<watch::HangWatch> hangs;
  if (request.options.ring_seconds > 0) {
    auto watch = watch_for_hangs(options.hang, directory, environment);
    if (!watch) return fail(watch.error());
    hangs = *std::move(watch);
  }
  const auto status = run_logged(options.command, environment);
  const bool was_ended = hangs && hangs->finish();
  if (!status) {
    return fail(launch::start_problem(options.command, status.error(),
                                      "The command to record stands after --"));
  }
  auto traces = launch::new_traces(before, launch::list_traces(directory));
  // Another `redline record` may write into this folder meanwhile.
  const auto own = environment.get("REDLINE_RECORDING");
  const auto is_of_another = [&](const std::string& path) {
    const std::string recording = own ? trace::recording_of(path) : "";
    return !recording.empty() && recording != own;
  };
  std::erase_if(traces.whole, is_of_another);
  std::erase_if(traces.partial, is_of_another);
  for (const auto& line :
       launch::summarise_recording(options.folder, traces, notes.read(), *status)) {
    say(line);
  }
  return was_ended ? watch::kHung : *status;
}

/// The help text with the option's default in place of "{}".
template <typename Value>
std::string help_of(const OptionRow& row, Value by_default) {
  std::string help = row.help;
  const size_t place = help.find("{}");
  if (place == std::string::npos) return help;
  const bool is_bytes = row.unit == OptionRow::Unit::kBytes;
  const auto number = static_cast<int64_t>(by_default);
  return help.replace(place, 2,
                      is_bytes ? std::to_string(number >> 20) + "MiB" : std::to_string(number));
}

void add_option(CLI::App& command, const OptionRow& row, bool& value) {
  command.add_flag_callback(
      row.flag, [&value, is_on = !value] { value = is_on; }, row.help);
}

template <typename Number>
void add_option(CLI::App& command, const OptionRow& row, Number& value) {
  auto* option = command.add_option(row.flag, value, help_of(row, value))->option_text(row.value);
  if (row.unit == OptionRow::Unit::kBytes) option->transform(as_bytes());
  if (row.unit == OptionRow::Unit::kSeconds) option->transform(as_seconds());
  option->check([row](const std::string& text) -> std::string {
    if (row.is_allowed(number_in(text))) return "";
    const bool is_as_typed = row.unit == OptionRow::Unit::kNone;
    return std::string("must be ") + row.limits + (is_as_typed ? ", not '" + text + "'" : "");
  });
}

void add_options(CLI::App& command, RecorderOptions& options) {
  for_each_option<RecorderOptions>(
      [&](const OptionRow& row, auto member) { add_option(command, row, options.*member); });
  command.get_option("--ring")->excludes(command.get_option("--schedule"));
  command.get_option("--slow-step")->needs(command.get_option("--ring"));
}

void add_selection(CLI::App& command, profiler::RecordRequest& request) {
  command
      .add_option("--ranks", request.ranks,
                  "Record only these ranks, e.g. 0,3; the others cost nothing")
      ->delimiter(',')
      ->check([](const std::string& rank) -> std::string {
        return number_in(rank) >= 0 ? "" : "must be ranks such as 0,3, not '" + rank + "'";
      })
      ->option_text("LIST");
  command
      .add_option("--step-marker", request.step_marker,
                  "A step begins at each range or mark of this name (NVTX, record_function or "
                  "redline::range), not at the optimizer")
      ->option_text("NAME")
      ->check(profiler::problem_of_step_marker);
}

}  // namespace

void add_record(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(
      "record", "Run any Python or LibTorch training command and write one trace of each rank");
  auto options = std::make_shared<RecordOptions>();
  command
      ->add_option(
          "--schedule", options->schedule,
          "Which steps: skip_first, then wait, warmup, active, repeat times (0: for ever); "
          "what is left out keeps skip_first=0,wait=1,warmup=1,active=3,repeat=1")
      ->option_text("LIST");
  add_options(*command, options->request.options);
  add_hang_options(*command, options->hang, {"trace", "report", "abort"}, "--ring");
  add_selection(*command, options->request);
  command->add_option("-o,--output", options->folder, "Folder of the traces (traces)")
      ->option_text("DIR");
  add_command_words(*command, options->command);
  command->footer(
      "A step ends where the optimizer steps; without an optimizer, after each backward pass;\n"
      "in inference, after each batch. Any other command is recorded whole.\n"
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
