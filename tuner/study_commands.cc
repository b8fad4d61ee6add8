#include "tuner/study_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string_view>

#include "cli/help_formatter.h"
#include "tuner/page.h"
#include "tuner/study.h"
#include "tuner/table.h"

namespace redline::tuner {
namespace {

constexpr int kUsage = 2;

/// A study with what its trials mean: the space they searched, and the best of them.
struct Loaded {
  Options options;
  Space space;
  std::vector<FinishedTrial> trials;
};

struct Request {
  std::string study;
  std::string format;
  std::string output;
  int64_t trial = 0;
};

Result<Loaded> load(const std::string& path) {
  Result<Study> study = Study::open_to_read(path);
  if (!study) return tl::unexpected(study.error());
  Result<StudyIdentity> identity = study->identity();
  if (!identity) return tl::unexpected(path + ": " + identity.error());
  auto space = parse_signature(identity->space);
  if (!space) return tl::unexpected(path + ": " + space.error());
  Result<std::vector<FinishedTrial>> trials = study->finished();
  if (!trials) return tl::unexpected(path + ": " + trials.error());
  Loaded loaded{.options = {}, .space = *std::move(space), .trials = *std::move(trials)};
  loaded.options.study = path;
  loaded.options.command = identity->command;
  loaded.options.memory_limit_bytes = identity->memory_limit_bytes;
  loaded.options.metric_regex = identity->metric_regex;
  return loaded;
}

History history_of(const Loaded& loaded) {
  History history(loaded.space);
  for (const FinishedTrial& trial : loaded.trials) history.add(trial);
  return history;
}

Result<std::string> trial_text(const Loaded& loaded, const History& history, int64_t id) {
  for (const FinishedTrial& trial : loaded.trials) {
    if (trial.id != id) continue;
    const TrialResult& result = trial.result;
    std::string text = fmt::format("trial {}  {}  {}\n  {}\n", id, to_string(result.outcome),
                                   trial.why, config_text(history.effective(trial.config), ", "));
    if (trial.ok()) {
      text += fmt::format("  {} samples/s ({} to {}, 95 %) over {} steps\n",
                          number_text(result.throughput->samples_per_s),
                          number_text(result.throughput->low), number_text(result.throughput->high),
                          result.steps);
    }
    if (result.peak_memory_bytes) text += "  memory " + size_text(*result.peak_memory_bytes) + "\n";
    if (result.data_wait_share) {
      text += fmt::format("  waits for data {:.0f} % of the time\n", 100 * *result.data_wait_share);
    }
    text += fmt::format("  took {}, {} of it start-up\n", duration_text(result.wall),
                        duration_text(result.start_up));
    if (!result.message.empty()) text += "  " + result.message + "\n";
    for (const std::string& note : result.notes) text += "  " + note + "\n";
    if (!result.stderr_tail.empty()) text += result.stderr_tail + "\n";
    return text;
  }
  return tl::unexpected(fmt::format("{}: no finished trial {}; it has {}", loaded.options.study, id,
                                    loaded.trials.size()));
}

std::string table_text(const Loaded& loaded, const Style& style) {
  const Table table(loaded.space, style);
  std::string text = table.column_names();
  History history(loaded.space);
  for (const FinishedTrial& trial : loaded.trials) {
    history.add(trial);
    text += table.line(history);
  }
  return text + table.summary(history, find_best(history), loaded.options);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_text(const Loaded& loaded, const History& history) {
  std::string text = "trial";
  for (const Knob& knob : loaded.space.knobs) text += "," + csv_field(knob.name);
  text += ",outcome,samples_per_s,low,high,peak_memory_bytes,data_wait_share,wall_ns,why,message\n";
  for (const FinishedTrial& trial : loaded.trials) {
    const TrialResult& result = trial.result;
    const Config all = history.effective(trial.config);
    text += std::to_string(trial.id);
    for (const Knob& knob : loaded.space.knobs) {
      const auto found = all.find(knob.name);
      text += "," + (found == all.end() ? "" : csv_field(found->second));
    }
    text += fmt::format(",{}", to_string(result.outcome));
    text += result.throughput ? fmt::format(",{},{},{}", result.throughput->samples_per_s,
                                            result.throughput->low, result.throughput->high)
                              : ",,,";
    text += result.peak_memory_bytes ? fmt::format(",{}", *result.peak_memory_bytes) : ",";
    text += result.data_wait_share ? fmt::format(",{:.4f}", *result.data_wait_share) : ",";
    text += fmt::format(",{},{},{}\n", result.wall.count(), csv_field(trial.why),
                        csv_field(result.message));
  }
  return text;
}

Result<std::string> exported(const Loaded& loaded, const Request& request) {
  const History history = history_of(loaded);
  const std::optional<Best> best = find_best(history);
  const Options& options = loaded.options;
  if (request.format == "csv") return csv_text(loaded, history);
  if (request.format == "json") return tune_json(history, best, options, false);
  return study_page(history, loaded.space, best, options.command, options.study, options.output);
}

Result<std::string> shown(const Loaded& loaded, const Request& request) {
  if (request.trial > 0) return trial_text(loaded, history_of(loaded), request.trial);
  return table_text(loaded, style_for(STDOUT_FILENO));
}

Result<std::string> applied(Loaded& loaded, const Request& request) {
  const History history = history_of(loaded);
  const std::optional<Best> best = find_best(history);
  if (!best)
    return tl::unexpected(request.study + ": no trial succeeded, there is nothing to apply");
  const auto written =
      write_atomically(request.output, best_json(*best, history, loaded.options.command));
  if (!written) return tl::unexpected(written.error());
  return fmt::format("redline run --config {} -- {}\n", shell_text({request.output}),
                     shell_text(loaded.options.command));
}

int finish(const Result<std::string>& text, const std::string& path) {
  if (text && !path.empty()) {
    const auto written = write_atomically(path, *text);
    if (written) return 0;
    fmt::print(stderr, "autotune: {}\n", written.error());
    return 1;
  }
  if (!text) {
    fmt::print(stderr, "autotune: {}\n", text.error());
    return 1;
  }
  std::fwrite(text->data(), 1, text->size(), stdout);
  if (std::fflush(stdout) == 0) return 0;
  fmt::print(stderr, "autotune: stdout: the output could not be written\n");
  return 1;
}

int run(const std::string& command, const Request& request) {
  Result<Loaded> loaded = load(request.study);
  if (!loaded) return finish(tl::unexpected(loaded.error()), "");
  if (command == "show") return finish(shown(*loaded, request), "");
  if (command == "apply") return finish(applied(*loaded, request), "");
  return finish(exported(*loaded, request), request.output);
}

}  // namespace

std::optional<int> run_study_command(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word != "show" && word != "export" && word != "apply") return std::nullopt;
  Request request;
  CLI::App app("Work with the trials that a study holds; nothing is run.", "autotune");
  cli::format_help(app);
  app.require_subcommand(1);
  CLI::App* show = app.add_subcommand("show", "Print a study's trials and the best of them");
  show->add_option("--trial", request.trial, "Everything about one trial")
      ->check(CLI::PositiveNumber);
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "autotune {}: {}\n", word, error.what());
    return kUsage;
  }
  if (apply->parsed()) request.output = config;
  return run(std::string(word), request);
}

}  // namespace redline::tuner
