// Runs one search, from its command line to its last line of output.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/format.h"
#include "base/terminal.h"
#include "machine/launch/command.h"
#include "tuner/command/command_line.h"
#include "tuner/command/traces.h"
#include "tuner/show/table.h"
#include "tuner/space/hook_knobs.h"
#include "tuner/study/run_study.h"
#include "tuner/trial/slurm.h"
#include "tuner/trial/trial.h"
#include "tuner/trial/trial_gpus.h"

namespace redline::tuner {
namespace {

std::atomic<StopRequest> stop_request{StopRequest::kNone};
static_assert(std::atomic<StopRequest>::is_always_lock_free, "written by a signal handler");

void on_signal(int) {
  const StopRequest before = stop_request.load();
  stop_request.store(before == StopRequest::kNone ? StopRequest::kEnd : StopRequest::kKill);
}

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  // If the reader of the output goes away (autotune | head), autotune must not die and leave a
  // trial behind. A handler, unlike SIG_IGN, is not inherited by the trial.
  action.sa_handler = [](int) {};
  sigaction(SIGPIPE, &action, nullptr);
}

std::string stopped_text(const History& history) {
  const std::string unconfirmed = unconfirmed_text(history);
  return kStopped + (unconfirmed.empty() ? "" : " " + unconfirmed);
}

std::string why_nothing_worked(const History& history, bool is_stopped) {
  if (history.empty() && is_stopped) {
    return "stopped before the first trial had ended, so there is nothing to show";
  }
  if (history.empty()) return "no trial ran. Give it a larger --budget";
  const FinishedTrial& first = history.trials().front();
  std::string text = fmt::format(
      "no trial succeeded; the first ended with: {}",
      first.result.message.empty() ? to_string(first.result.outcome) : first.result.message);
  if (!first.result.stderr_tail.empty()) text += "\n" + first.result.stderr_tail;
  return text;
}

Result<void> write_page(const History& history, const Space& space, const std::optional<Best>& best,
                        const Options& options) {
  return write_atomically(options.page_path(), study_page(history, space, best, options),
                          "--study");
}

/// Prints lines as trials end and keeps best.json up to date.
class Screen final : public Observer {
 public:
  Screen(const Options& options, const Table& table, const History& history)
      : options_(options),
        table_(table),
        history_(history),
        stream_(options.json ? stderr : stdout),
        live_(unit_of(history.rate())) {}

  void say(const std::string& text) { put(stream_, text); }

  void trial_started(int64_t id, const Proposal& proposal) override {
    live_.start(id, proposal.why, time_left());
  }
  void trial_progress(int64_t id, const TrialProgress& progress) override {
    live_.show(id, progress);
  }
  void trial_finished(const History& history) override {
    live_.clear();
    live_.finish(history.trials().back().id);
    // Column names are printed after a trial, because the first trial shows which knobs there are.
    if (const std::string columns = table_.column_names(); columns != columns_) {
      say(columns_ = columns);
    }
    say(table_.line(history));
    for (const std::string& note : history.trials().back().result.notes) {
      if (notes_.emplace(note).second) say("    " + note + "\n");
    }
    // Prints what the trial has shown about the space.
    for (; said_ < table_.space().left_out.size(); ++said_) {
      say("    " + table_.space().left_out[said_] + "\n");
    }
    if (table_.space().unread.empty()) write_best(history, find_best(history));
  }

  /// Shows what the study has found, and writes its page. Returns the exit status.
  int end(const Result<StudyEnd>& ended, const Share& share) {
    live_.clear();
    if (!ended) return complain(ended.error());
    const Space& space = table_.space();
    if (!space.unread.empty()) return complain(space.unread.front());
    const bool stopped = *ended == StudyEnd::kStopped;
    std::optional<Best> best = find_best(history_);
    const std::string profile_error = stopped ? "" : add_profile(best, share);
    Result<void> page;
    if (!history_.empty()) {
      say(table_.summary(history_, best, options_));
      page = write_page(history_, space, best, options_);
      if (page) say("see why: " + options_.page_path() + "\n");
    }
    if (options_.json) put(stdout, tune_json(history_, best, options_));
    if (std::ferror(stdout)) {
      return complain(
          "stdout: the output could not be written; the study and best.json are complete");
    }
    if (!write_error_.empty()) return complain(write_error_);
    if (!page) return complain(page.error());
    if (!profile_error.empty()) return complain(profile_error, failure());
    if (!best) return complain(why_nothing_worked(history_, stopped), failure());
    if (stopped) return complain("stopped: " + options_.output + " has the best so far", failure());
    return kDone;
  }

 private:
  void write_best(const History& history, const std::optional<Best>& best) {
    if (!best) return;
    const auto written =
        write_atomically(options_.output, best_json(*best, history, options_.command));
    write_error_ = written ? "" : written.error();
  }

  /// The exit status where there is no result, or not all of it.
  [[nodiscard]] static int failure() {
    return stop_request.load() == StopRequest::kNone ? kFailed : kInterrupted;
  }

  /// Returns the error; empty if there is none.
  std::string add_profile(std::optional<Best>& best, const Share& share) {
    if (!options_.profile_best || !best) return "";
    Result<BestProfile> profile = profile_best(history_, *best, options_, share, stop_request,
                                               [this](const std::string& text) { say(text); });
    if (!profile) return profile.error();
    best->profile = *std::move(profile);
    write_best(history_, best);
    return "";
  }

  /// What is left of the budget; less if --max-trials ends the search earlier.
  [[nodiscard]] std::chrono::nanoseconds time_left() const {
    const std::chrono::nanoseconds used = history_.time_used();
    const auto left = std::max(options_.budget.time - used, std::chrono::nanoseconds(0));
    const auto done = std::ssize(history_.trials());
    if (options_.budget.max_trials == 0 || done == 0) return left;
    return std::min(left, used / done * std::max(options_.budget.max_trials - done, 0L));
  }

  const Options& options_;
  const Table& table_;
  const History& history_;
  std::FILE* stream_;
  LiveLine live_;
  std::string columns_;  // as printed last
  std::set<std::string> notes_;
  size_t said_ = table_.space().left_out.size();  // those before are in the head
  std::string write_error_;
};

/// What all shares have in common, for the study's identity.
std::string share_text(const std::vector<Share>& shares) {
  const Share& share = shares.front();
  if (share.whole()) return "";
  return fmt::format("{} GPUs and {} cores a trial", share.gpus.size(), share.cores.size());
}

/// Why this machine cannot search for energy; empty if it can, or if the objective is not energy.
std::string why_no_energy(const Options& options) {
  if (options.objective != Objective::kSamplesPerJoule) return "";
  if (!options.metric_regex.empty()) return "it needs the steps that the hook counts, not --metric";
  if (options.slurm) return "the GPUs of other nodes cannot be asked from here";
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const TrialGpus gpus(visible ? std::optional<std::string>(visible) : std::nullopt);
  if (gpus.count() == 0) return "NVML shows no GPU here, and nothing else tells their energy";
  if (!gpus.power()) return "NVML tells neither energy nor power of these GPUs";
  return "";
}

/// Ends the job steps of this study. Nobody else runs it, so they were left behind by a host that
/// crashed.
void end_steps_left(const Options& options, const Study& study) {
  LeftSteps left;
  for (const std::string& folder : {study.trials_directory(), profile_folder(options.study)}) {
    const LeftSteps here = end_left_steps(std::filesystem::absolute(folder).string());
    left.count += here.count;
    left.ended = left.ended && here.ended;
  }
  if (left.count == 0) return;
  complain(fmt::format("{}: {} of an earlier run {} still there, and {}", options.study,
                       format_plural(left.count, "job step"), left.count == 1 ? "was" : "were",
                       left.ended
                           ? "ended"
                           : "Slurm lists some of them a minute after it was told to end them; "
                             "what they hold comes free with the allocation's end"));
}

/// Whether the search goes on with the trials of the same command that a file holds. The user is
/// only asked on a terminal. Elsewhere --resume decides, and Study::open() says so.
enum class Answer { kGoOn, kAnew, kNotAsked };

/// The answer on stdin; nullopt if it is neither yes nor no. An empty line is a yes, and so is the
/// end of the input.
std::optional<Answer> read_answer() {
  std::string line;
  if (!std::getline(std::cin, line) || line.empty()) return Answer::kGoOn;
  std::ranges::transform(line, line.begin(), [](unsigned char c) { return std::tolower(c); });
  if (line == "y" || line == "yes") return Answer::kGoOn;
  if (line == "n" || line == "no") return Answer::kAnew;
  return std::nullopt;
}

Answer ask_to_go_on(const std::string& path, const Options& options) {
  if (options.resume || options.dry_run || isatty(STDIN_FILENO) != 1 ||
      isatty(STDERR_FILENO) != 1) {
    return Answer::kNotAsked;
  }
  const Result<Study> study = Study::open_to_read(path);
  const auto trials = study ? study->finished() : tl::unexpected(std::string());
  const auto is_success = [](const FinishedTrial& trial) {
    return trial.result.outcome == Outcome::kOk;
  };
  if (!trials || std::ranges::none_of(*trials, is_success)) return Answer::kNotAsked;
  for (;;) {
    put(stderr,
        fmt::format("autotune: {} has {} of this command ({} of the budget of {} used). Go on with "
                    "them? [Y: go on, n: start anew in another file] ",
                    path, format_plural(std::ssize(*trials), "trial"),
                    format_wait(time_used(*trials)), format_wait(options.budget.time)));
    if (const auto answer = read_answer()) return *answer;
  }
}

/// Why --resume at the command's end is taken for autotune's own; empty if it is not. There it is
/// an option of the script, and the search would begin anew.
std::string misplaced_resume(const Options& options, StudyIdentity identity) {
  if (options.resume || identity.command.back() != "--resume") return "";
  identity.command.pop_back();
  const std::string path =
      options.names_study ? options.study : Study::own_path(options.study, identity, false);
  const Result<Study> study = Study::open_to_read(path);
  const Result<StudyIdentity> known = study.and_then(&Study::identity);
  if (!known || known->command != identity.command) return "";
  return fmt::format(
      "--resume at the end of the command is the script's option. To go on with the trials in {}, "
      "put it before the --. If the script takes it, give --study another file",
      path);
}

/// Chooses the file of a search that names none; each command has its own.
Options with_own_study(Options options, const StudyIdentity& identity) {
  if (options.names_study) return options;
  std::string own = Study::own_path(options.study, identity, false);
  // There is nothing to go on with; open() will say what the first file holds.
  if (options.resume && !std::filesystem::exists(own)) own = options.study;
  const Answer answer = ask_to_go_on(own, options);
  if (answer == Answer::kAnew) own = Study::own_path(options.study, identity, true);
  if (answer == Answer::kGoOn) options.resume = true;
  if (own != options.study) complain("the study is " + own);
  options.study = own;
  return options;
}

/// The study's file for --dry-run, and whether a search would go on with what it holds.
std::string study_text(const Options& options, const StudyIdentity& identity) {
  const Result<Study> study = Study::open_to_read(options.study);
  if (!study) return options.study;
  const Result<bool> goes_on = study->goes_on(identity, options.resume);
  if (!goes_on) return options.study + ": " + goes_on.error();
  return options.study + (*goes_on ? " (resumed)" : "");
}

/// Why the search cannot write its results where it was told to; empty if it can.
std::string why_not_to(const Options& options) {
  if (same_file(options.output, options.study)) {
    return fmt::format("-o {} is the study. Choose another file", options.output);
  }
  if (same_file(options.page_path(), options.study)) {
    return fmt::format(
        "--study {}: the page about the study gets this name. Choose another one, "
        "such as autotune.study.db",
        options.study);
  }
  if (same_file(options.output, options.page_path())) {
    return fmt::format("-o {}: the page about the study gets this name. Choose another file",
                       options.output);
  }
  std::error_code ignored;
  const std::filesystem::path output = std::filesystem::absolute(options.output, ignored);
  if (std::filesystem::is_directory(output, ignored)) {
    return fmt::format("-o {} is a folder. Choose a file", options.output);
  }
  if (access(output.parent_path().c_str(), W_OK | X_OK) != 0) {
    return fmt::format("-o {}: {}. Choose another file", options.output, std::strerror(errno));
  }
  return "";
}

/// Says why no search can be made as it was asked for, if so, and gives the exit status.
std::optional<int> refusal_of(const Options& options) {
  if (const std::string why = why_no_energy(options); !why.empty()) {
    return complain("--objective energy: " + why, kUsage);
  }
  if (options.objective == Objective::kStepsPerSecond &&
      (options.global_batch || !options.metric_regex.empty())) {
    return complain(
        fmt::format("--objective steps counts steps. Leave out {}",
                    options.global_batch ? "--global-batch, which needs samples" : "--metric"),
        kUsage);
  }
  if (options.slurm && options.parallel > 1) {
    return complain(
        "--parallel: Slurm shares out its nodes itself. Start an autotune --resume in each "
        "allocation; they share the study",
        kUsage);
  }
  return std::nullopt;
}

/// Says why no trial can start, if that shows beforehand, and gives the exit status. A knob may
/// name the program, and the nodes of Slurm have their own programs.
std::optional<int> refusal_to_start(const Options& options) {
  const std::string& word = options.command.front();
  if (options.slurm || word.find('{') != std::string::npos) return std::nullopt;
  const std::string why = launch::why_no_program(word);
  if (why.empty()) return std::nullopt;
  return complain(
      launch::start_problem(options.command, why, "The command to tune stands after --"), kUsage);
}

/// Takes out the usual knobs that change what a step takes. The error names one that the user asked
/// for.
tl::expected<void, std::string> keep_steps_alike(Space& space) {
  for (const char* name : kKnobsOfStepSize) {
    if (space.asked.contains(name)) {
      return tl::unexpected(fmt::format(
          "--objective steps compares steps, and {} changes what a step takes. Leave it out",
          name));
    }
    if (std::erase_if(space.knobs, [&](const Knob& knob) { return knob.name == name; }) > 0) {
      space.left_out.push_back(fmt::format("{} left out: steps are compared", name));
    }
  }
  return {};
}

/// Says why there is no space to search, if so; the error is the exit status.
tl::expected<Space, int> space_of(const Options& options, const Machine& machine) {
  auto space = make_space(options.knobs, options.command, machine, options.global_batch);
  if (!space) return tl::unexpected(complain(space.error(), kUsage));
  if (!options.from_trace.empty()) {
    const auto advised = advised_knobs(options.from_trace);
    if (!advised) return tl::unexpected(complain(advised.error()));
    put_advised_first(*space, *advised, options.knobs.empty(), machine);
  }
  if (options.objective == Objective::kStepsPerSecond) {
    if (const auto alike = keep_steps_alike(*space); !alike) {
      return tl::unexpected(complain(alike.error(), kUsage));
    }
  }
  return *std::move(space);
}

SearchSettings settings_of(const Options& options, const Machine& machine) {
  return {.machine = machine,
          .memory_limit_bytes = options.memory_limit_bytes,
          .has_memory_metric = !options.memory_metric_regex.empty(),
          .longest_measurement = options.longest_measurement(),
          .steps_a_trial = options.steps_a_trial(),
          .time = options.budget.time,
          .most_trials = options.budget.max_trials,
          .seed = options.seed};
}

StudyIdentity identity_of(const Options& options, const Space& space,
                          const std::vector<Share>& shares, const Machine& machine) {
  return {.command = options.command,
          .space = space.signature(),
          .memory_limit_bytes = options.memory_limit_bytes,
          .metric_regex = options.metric_regex,
          .memory_metric_regex = options.memory_metric_regex,
          .objective = word_of(options.objective),
          .share = share_text(shares),
          .step_marker = options.step_marker,
          // The trials of Slurm run on other machines, which may differ.
          .machine = options.slurm ? std::nullopt : std::optional(machine),
          .environment = variables_with_placeholders(space)};
}

/// Opens the study and tells the user what it holds of others and of earlier runs.
Result<Study> open_study(const Options& options, const StudyIdentity& identity) {
  if (const auto warning = foreign_writer(options.study)) complain(*warning);
  Result<Study> study = Study::open(options.study, identity, options.resume);
  if (!study) return study;
  if (study->joined()) {
    complain(options.study +
             ": another autotune is using it; both search together. Give each GPUs or cores of "
             "its own (CUDA_VISIBLE_DEVICES, taskset)");
  }
  if (options.slurm && !study->joined()) end_steps_left(options, *study);
  if (study->dropped_failures() > 0) {
    complain(options.study + ": no trial in it succeeded; started over");
  }
  return study;
}

}  // namespace

int run_search_command(const Options& given) {
  Options options = given;
  if (const auto refusal = refusal_of(options)) return *refusal;
  const auto shares = split_into_shares(detect_devices(), options.parallel);
  if (!shares) return complain(shares.error(), kUsage);
  const Machine machine = machine_of(shares->front(), detect_machine());
  auto space = space_of(options, machine);
  if (!space) return space.error();
  if (const auto refusal = refusal_to_start(options)) return *refusal;
  const auto strategy = make_strategy(options.strategy, *space, settings_of(options, machine));
  const StudyIdentity identity = identity_of(options, *space, *shares, machine);
  if (const std::string why = misplaced_resume(options, identity); !why.empty()) {
    return complain(why, kUsage);
  }
  options.environment = identity.environment;
  options = with_own_study(std::move(options), identity);
  if (const std::string why = why_not_to(options); !why.empty()) return complain(why, kUsage);
  if (options.dry_run) {
    put(stdout,
        dry_run_text(options, *space, *strategy, machine, *shares, study_text(options, identity)));
    return std::ferror(stdout) ? complain("stdout: the output could not be written") : kDone;
  }
  catch_signals();
  Result<Study> study = open_study(options, identity);
  if (!study) return complain(study.error());
  Result<std::vector<FinishedTrial>> finished = study->finished();
  if (!finished) return complain(options.study + ": " + finished.error());

  History history(*space, options.objective);
  const Plan plan(*space, *strategy, options.budget, options.memory_limit_bytes);
  const int output = options.json ? STDERR_FILENO : STDOUT_FILENO;
  const Table table(*space, style_of(output), options.objective, isatty(output) == 0);
  Screen screen(options, table, history);
  screen.say(table.head(options) + "\n");
  const size_t known = finished->size();
  for (FinishedTrial& trial : *finished) {
    learn_from(trial, *space);
    history.add(std::move(trial));
    screen.trial_finished(history);
  }
  // What an earlier search said of its end is over.
  if (auto kept = study->keep_why_ended(""); !kept) return complain(kept.error());
  const Result<StudyEnd> ended = run_study({.plan = plan,
                                            .study = *study,
                                            .history = history,
                                            .space = *space,
                                            .prototype = options.prototype(),
                                            .run_trial = run_trial,
                                            .stop = stop_request,
                                            .observer = screen,
                                            .shares = *shares});
  options.machine = machine;
  if (ended) {
    options.why_ended =
        *ended == StudyEnd::kStopped ? stopped_text(history) : plan.why_ended(history, known);
  }
  if (auto kept = study->keep_why_ended(options.why_ended); !kept) return complain(kept.error());
  return screen.end(ended, shares->front());
}

}  // namespace redline::tuner
