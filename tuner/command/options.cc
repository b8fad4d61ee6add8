#include "tuner/command/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <regex>

#include "base/format.h"
#include "base/help_formatter.h"
#include "base/terminal.h"
#include "base/usage_problem.h"
#include "profiler/request/options.h"
#include "tuner/show/table.h"
#include "tuner/space/hook_knobs.h"
#include "tuner/space/knob.h"
#include "tuner/trial/slurm.h"

namespace redline::tuner {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int64_t kFewestSteps = 5;
constexpr seconds kUsualTimeout{120};
constexpr seconds kLeastTimeout{30};
constexpr seconds kStartTimeout{120};  // importing torch takes long if others use the machine

/// Adds an option whose text `parse` turns into `value`.
template <typename Value, typename Parse>
CLI::Option* add_parsed(CLI::App& app, const char* name, Value& value, Parse parse,
                        const char* help) {
  const auto take = [name, parse, &value](const std::string& text) {
    const auto parsed = parse(text);
    if (!parsed) throw CLI::ValidationError(name, parsed.error());
    value = *parsed;
  };
  return app.add_option_function<std::string>(name, take, help);
}

/// Adds an option whose value is `usual`, the default, or `other`. Calls take(true) for `other`.
template <typename Take>
CLI::Option* add_choice(CLI::App& app, const char* name, const char* usual, const char* other,
                        Take take, const char* help) {
  return app
      .add_option_function<std::string>(
          name, [take, other](const std::string& text) { take(text == other); }, help)
      ->default_str(usual)
      ->check(CLI::IsMember({usual, other}));
}

std::string check_knob(const std::string& text) {
  const auto knob = parse_knob(text);
  return knob ? std::string() : knob.error();
}

/// "5%": a share of the whole.
tl::expected<double, std::string> parse_share(const std::string& text) {
  const auto share = parse_percent(text);
  if (share && *share > 0 && *share < 1) return share;
  return tl::unexpected(fmt::format("'{}' is no share. Example: 5%", text));
}

std::string check_regex(const std::string& text) {
  try {
    const std::regex regex(text);
    if (regex.mark_count() == 1) return {};
    return fmt::format(
        "'{}' has {} groups; it needs one, around the number. Example: "
        "'samples/s: ([0-9.]+)'",
        text, regex.mark_count());
  } catch (const std::regex_error& error) {
    return fmt::format("'{}': {}", text, error.what());
  }
}

std::string check_file(const std::string& path) {
  return path.empty() ? "needs the name of a file" : "";
}

std::string knobs_help() {
  const std::string names =
      fmt::format("Knobs that the start-up hook sets in Python scripts: {}; arguments of DDP: {}.",
                  hook_knob_names(false), hook_knob_names(true));
  return joined(wrapped(names, kTerminalColumns), "\n") +
         "\nFor any other NAME, write {NAME} in the command.\n\n";
}

constexpr const char* kExamples =
    "Examples:\n"
    "  autotune -- torchrun --nproc_per_node 2 train.py\n"
    "  autotune --knob batch_size=16..512 --knob amp=off,bf16 --budget 2m \\\n"
    "           --memory-limit 2GiB -- python train.py\n"
    "  autotune --global-batch 512 -- torchrun --nproc_per_node 2 train.py\n"
    "  autotune --knob threads=1,2 --metric 'rate ([0-9.]+)' -- ./train -t {threads}\n"
    "  autotune --parallel 4 -- python train.py\n"
    "  salloc -N 2 --ntasks-per-node 1 autotune --launcher slurm -- python train.py\n"
    "  autotune --from-trace traces --profile-best -- python train.py\n"
    "  autotune show|export|apply autotune.study.db   (each has its --help)\n"
    "\n"
    "Ctrl-C ends the trial, keeps everything, prints the best so far and ends with status 130;\n"
    "--resume goes on.";

/// Prints the error as one line, without what CLI11 puts before it: "autotune: --knob batch=8..4:
/// the range is empty …".
int report_usage(std::string text) {
  if (text.starts_with("--knob: ")) text.erase(0, 8);
  return complain(text, kUsage);
}

/// Refuses what no process of PyTorch fits into, such as a number whose unit was forgotten.
Result<uint64_t> parse_memory_limit(const std::string& text) {
  constexpr uint64_t kLeast = 64 << 20;
  const auto bytes = parse_size(text);
  if (!bytes || *bytes >= kLeast) return bytes;
  return tl::unexpected(
      fmt::format("'{}' is {}, less than 64 MiB. Example: 2GiB", text, format_bytes(*bytes)));
}

/// What is tried, and for how long.
void add_search_options(CLI::App& app, Options& options) {
  app.add_option("--knob", options.knobs,
                 "What to try: NAME=LOW..HIGH or NAME=A,B,C, as often as you like; default: the "
                 "usual knobs of Python scripts")
      ->type_name("NAME=VALUES")
      ->allow_extra_args(false)
      ->check(check_knob);
  add_parsed(app, "--budget", options.budget.time, parse_duration, "Time for all trials together")
      ->type_name("TIME")
      ->default_str("10m");
  app.add_option("--max-trials", options.budget.max_trials, "The most trials to run")
      ->check(above_zero);
  add_parsed(app, "--target", options.budget.target, parse_share,
             "End the search when no more than this is left to gain, e.g. 5%")
      ->type_name("PERCENT");
  app.add_option("--strategy", options.strategy, "model, coordinate, random or grid")
      ->capture_default_str()
      ->check(CLI::IsMember({"model", "coordinate", "random", "grid"}));
  app.add_option("--global-batch", options.global_batch,
                 "Samples of a step over all ranks; accumulation makes up the rest")
      ->check(above_zero);
  add_parsed(app, "--memory-limit", options.memory_limit_bytes, parse_memory_limit,
             "Memory that each process may use, e.g. 2GiB")
      ->type_name("SIZE");
  app.add_option("--parallel", options.parallel,
                 "How many trials run at a time, each with a part of the GPUs or cores")
      ->capture_default_str()
      ->check(above_zero);
  add_choice(
      app, "--launcher", "local", "slurm", [&options](bool slurm) { options.slurm = slurm; },
      "local, or slurm: each trial is a job step (srun)");
  app.add_option("--study", options.study,
                 "The file that keeps every trial; without it each command has its own, "
                 "autotune.study-2.db and so on")
      ->type_name("FILE")
      ->capture_default_str()
      ->check(check_file);
  app.add_option("--from-trace", options.from_trace,
                 "Try first what the report on this trace or folder advises; without --knob, also "
                 "add the knobs that it names")
      ->type_name("PATH");
}

/// How a trial is measured.
void add_trial_options(CLI::App& app, Options& options) {
  app.add_option_function<std::string>(
         "--objective",
         [&options](const std::string& text) { options.objective = objective_of(text); },
         "throughput; energy: samples per joule of the GPUs; steps: steps a second, where nothing "
         "tells the samples of a step")
      ->default_str("throughput")
      ->check(CLI::IsMember({"throughput", "energy", "steps"}));
  app.add_option("--metric", options.metric_regex,
                 "Measure by what the command prints: a regular expression with one group, whose "
                 "last match on stdout is the rate")
      ->type_name("REGEX")
      ->check(check_regex);
  app.add_option("--step-marker", options.step_marker,
                 "A step begins at each range or mark of this name (record_function, NVTX), "
                 "not at the optimizer")
      ->option_text("NAME")
      ->check(profiler::problem_of_step_marker)
      ->excludes("--metric");
  app.add_option("--memory-metric", options.memory_metric_regex,
                 "Like --metric, for the peak of device memory: bytes, or with a unit (3.2 GiB)")
      ->type_name("REGEX")
      ->check(check_regex);
  app.add_option("--cost-per-hour", options.cost_per_hour,
                 "Price of the job's machines, to say what an epoch costs")
      ->check(above_zero);
  add_parsed(app, "--trial-timeout", options.trial_timeout, parse_duration,
             "The longest time of a trial; default 120s, less in small budgets")
      ->type_name("TIME");
}

/// How this search runs, what it prints, and the command.
void add_run_options(CLI::App& app, Options& options) {
  app.add_option("--seed", options.seed, "For --strategy random")
      ->capture_default_str()
      ->check([](const std::string& seed) -> std::string {
        return number_in(seed) >= 0 ? "" : "must be 0 or more, not '" + seed + "'";
      });
  app.add_flag("--resume", options.resume, "Go on with the trials that --study holds");
  app.add_flag("--profile-best", options.profile_best,
               "At the end record the default and the best, and print what differs");
  app.add_flag("--dry-run", options.dry_run,
               "Print what would be tried and the first command; run nothing");
  add_choice(
      app, "--format", "table", "json", [&options](bool json) { options.json = json; },
      "table or json (to stdout)")
      ->excludes("--dry-run");
  app.add_option("-o,--output", options.output, "Where the best configuration is written")
      ->type_name("FILE")
      ->capture_default_str()
      ->check(check_file);
  app.add_option("CMD", options.command, "The training command, after --")->required();
}

/// What follows from the options together.
void settle(Options& options) {
  if (!options.metric_regex.empty() && options.objective == Objective::kSamplesPerSecond) {
    options.objective = Objective::kMetric;
  }
  if (options.slurm) options.command = under_srun(options.command);
  options.may_pause = options.trial_timeout.count() > 0;
  if (options.may_pause) return;
  options.trial_timeout =
      std::clamp<nanoseconds>(options.budget.time / 4, kLeastTimeout, kUsualTimeout);
  // A command with --metric may run without the hook, whose report would end this time.
  if (options.metric_regex.empty()) options.start_timeout = kStartTimeout;
}

}  // namespace

int complain(const std::string& message, int status) {
  put(stderr, fmt::format("autotune: {}\n", message));
  return status;
}

bool same_file(const std::string& one, const std::string& other) {
  std::error_code ignored;
  const auto whole = [&ignored](const std::string& path) {
    return std::filesystem::absolute(path, ignored).lexically_normal();
  };
  return std::filesystem::equivalent(one, other, ignored) || whole(one) == whole(other);
}

std::string Options::page_path() const {
  return std::filesystem::path(study).replace_extension(".html");
}

std::chrono::nanoseconds Options::measure_for() const {
  return std::clamp<nanoseconds>(budget.time / 40, seconds(2), seconds(10));
}

std::chrono::nanoseconds Options::longest_measurement() const {
  return std::min(trial_timeout, std::max<nanoseconds>(budget.time / 10, seconds(8)));
}

int64_t Options::steps_a_trial() const {
  return 2 * kFewestSteps;  // warm-up may take as many steps as the measurement
}

TrialSpec Options::prototype() const {
  TrialSpec spec;
  spec.command = command;
  spec.memory_limit_bytes = memory_limit_bytes;
  spec.slurm = slurm;
  spec.timeout = trial_timeout;
  spec.measure_for = measure_for();
  spec.min_steps = kFewestSteps;
  spec.global_batch = global_batch;
  spec.objective = objective;
  spec.start_timeout = start_timeout;
  spec.may_pause = may_pause;
  spec.metric_regex = metric_regex;
  spec.step_marker = step_marker;
  spec.memory_metric_regex = memory_metric_regex;
  return spec;
}

std::optional<Options> parse_options(int argc, char** argv, int& exit_status) {
  Options options;
  CLI::App app(
      "Finds the fastest configuration of a training command that does not run out of "
      "memory: each trial runs the command for a few seconds with other knobs.",
      "autotune");
  format_help(app);
  app.set_version_flag("--version", "autotune " REDLINE_VERSION);
  add_search_options(app, options);
  add_trial_options(app, options);
  add_run_options(app, options);
  app.footer(knobs_help() + kExamples);
  // Options behind the first word of the command belong to the command, with or without --.
  app.positionals_at_end();
  app.prefix_command(false);
  if (const auto ended = ended_by_parsing(app, argc, argv, report_usage)) {
    exit_status = *ended;
    return std::nullopt;
  }
  const bool counts_steps = options.objective == Objective::kStepsPerSecond;
  if (options.cost_per_hour && (counts_steps || !options.metric_regex.empty())) {
    exit_status = report_usage(usage_problem(
        app,
        CLI::ValidationError(
            std::string("--cost-per-hour: it needs the samples that the hook counts, and ") +
            (counts_steps ? "--objective steps counts none" : "--metric may count anything"))));
    return std::nullopt;
  }
  options.names_study = app.count("--study") > 0;
  settle(options);
  return options;
}

}  // namespace redline::tuner
