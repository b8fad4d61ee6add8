#include "tuner/command/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/format.h"
#include "base/help_formatter.h"
#include "base/nearest.h"
#include "base/usage_problem.h"
#include "tuner/show/table.h"

namespace redline::tuner {
namespace {

struct Request {
  std::string study;
  std::string format;
  std::string output;
  int64_t trial = 0;
};

StudyTerms terms_of(const StudyContent& study, const std::optional<Best>& best) {
  StudyTerms terms;
  terms.study = study.path;
  terms.why_ended = study.why_ended;
  // Without it the search usually ran on this machine.
  terms.machine = study.identity.machine.value_or(detect_machine());
  terms.command = study.identity.command;
  terms.environment = study.identity.environment;
  terms.memory_limit_bytes = study.identity.memory_limit_bytes;
  terms.metric_regex = study.identity.metric_regex;
  terms.memory_metric_regex = study.identity.memory_metric_regex;
  terms.objective = study.identity.searched_for();
  forget_another_output(terms, best);
  return terms;
}

std::string table_text(const StudyContent& study, const TextStyle& style) {
  const Table table(study.space, style, study.identity.searched_for(), isatty(STDOUT_FILENO) == 0);
  std::string text = table.column_names();
  History history(study.space, study.identity.searched_for());
  for (const FinishedTrial& trial : study.trials) {
    history.add(trial);
    text += table.line(history);
  }
  const std::optional<Best> best = find_best(history);
  return text + table.summary(history, best, terms_of(study, best));
}

Result<std::string> exported(const StudyContent& study, const Request& request) {
  const History history = study.history();
  const std::optional<Best> best = find_best(history);
  const StudyTerms terms = terms_of(study, best);
  if (request.format == "csv") return study_csv(history, study.space);
  if (request.format == "json") return tune_json(history, best, terms);
  return study_page(history, study.space, best, terms);
}

Result<std::string> shown(const StudyContent& study, const Request& request) {
  if (request.trial > 0) return trial_text(study, request.trial);
  return table_text(study, style_of(STDOUT_FILENO));
}

Result<std::string> applied(const StudyContent& study, const Request& request) {
  const History history = study.history();
  const std::optional<Best> best = find_best(history);
  if (!best)
    return tl::unexpected(request.study + ": no trial succeeded, there is nothing to apply");
  const auto written =
      write_atomically(request.output, best_json(*best, history, study.identity.command));
  if (!written) return tl::unexpected(written.error());
  return fmt::format("{}redline run --config {} -- {}\n",
                     assignments_text(study.identity.environment), format_command({request.output}),
                     format_command(study.identity.command));
}

int finish(const Result<std::string>& text, const std::string& path) {
  if (!text) return complain(text.error());
  if (!path.empty()) {
    const auto written = write_atomically(path, *text);
    return written ? kDone : complain(written.error());
  }
  put(stdout, *text);
  return std::ferror(stdout) ? complain("stdout: the output could not be written") : kDone;
}

int run(const std::string& command, const Request& request) {
  // Of a script whose variable is not set.
  if (request.study.empty()) {
    return complain(fmt::format("{}: no study is named. Example: autotune {} autotune.study.db",
                                command, command),
                    kUsage);
  }
  if (same_file(request.output, request.study)) {
    return complain(fmt::format("-o {} is the study. Choose another file", request.output), kUsage);
  }
  const Result<StudyContent> study = read_study(request.study);
  if (!study) return finish(tl::unexpected(study.error()), "");
  if (command == "show") return finish(shown(*study, request), "");
  if (command == "apply") return finish(applied(*study, request), "");
  return finish(exported(*study, request), request.output);
}

const std::vector<std::string> kWords = {"show", "export", "apply"};

/// A word that is no command begins a training command, but none takes a study.
std::optional<int> complain_of_slip(int argc, char** argv) {
  const std::string meant = argc > 2 ? did_you_mean(argv[1], kWords) : "";
  if (meant.empty() || !std::string_view(argv[argc - 1]).ends_with(".db")) return std::nullopt;
  return complain(fmt::format("no such command: {}{} See autotune --help", argv[1], meant), kUsage);
}

}  // namespace

std::optional<int> run_study_command(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (std::ranges::find(kWords, word) == kWords.end()) return complain_of_slip(argc, argv);
  Request request;
  CLI::App app("Work with the trials that a study holds; nothing is run.", "autotune");
  format_help(app);
  app.require_subcommand(1);
  CLI::App* show = app.add_subcommand("show", "Print a study's trials and the best of them");
  show->add_option("--trial", request.trial, "Everything about one trial")->check(above_zero);
  show->footer("Examples:\n  autotune show autotune.study.db\n  autotune show study.db --trial 4");
  CLI::App* write = app.add_subcommand("export", "Write a study as a page, JSON or CSV");
  write->add_option("--format", request.format, "html, json or csv")
      ->default_val("html")
      ->check(CLI::IsMember({"html", "json", "csv"}));
  write->add_option("-o,--output", request.output, "File to write instead of standard output");
  write->footer(
      "Examples:\n  autotune export study.db -o tune.html\n"
      "  autotune export study.db --format csv | column -t -s,");
  CLI::App* apply = app.add_subcommand("apply", "Write the best configuration for redline run");
  std::string config = "best.json";
  apply->add_option("-o,--output", config, "Where it is written")->capture_default_str();
  apply->footer(
      "Prints the command to start.\nExamples:\n  autotune apply study.db\n"
      "  sh -c \"$(autotune apply study.db -o best.json)\"");
  for (CLI::App* command : {show, write, apply}) {
    command->add_option("FILE", request.study, "The study")->required();
  }
  const auto report = [](const std::string& problem) { return complain(problem, kUsage); };
  if (const auto ended = ended_by_parsing(app, argc, argv, report)) return ended;
  if (apply->parsed()) request.output = config;
  return run(std::string(word), request);
}

}  // namespace redline::tuner
