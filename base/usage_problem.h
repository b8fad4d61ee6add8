// What is wrong with a command line, in the words that all our programs use.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/nearest.h"

namespace redline {

/// The subcommand that was given, or `app` if none was.
inline const CLI::App& given_command(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : *commands.front();
}

/// "--output has no value before --" if an option took the "--" behind it as its value, else "".
inline std::string value_problem(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || std::ranges::count(option->results(), "--") == 0) continue;
    return option->get_name() + " has no value before --";
  }
  return "";
}

/// ". Give --base 'CMD' --new 'CMD'": the options without which the command cannot do anything, if
/// some were not given, else "".
inline std::string options_to_give(const CLI::App& command) {
  std::string missing;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->get_positional() || option->count() > 0) continue;
    const std::string& text = option->get_option_text();
    missing += " " + option->get_name() + " " + (text.empty() ? option->get_type_name() : text);
  }
  return missing.empty() ? "" : ". Give" + missing;
}

/// app.parse(), which also refuses what value_problem() tells, before any subcommand's callback.
inline void parse_command_line(CLI::App& app, int argc, char** argv) {
  app.parse_complete_callback([&app] {
    const std::string problem = value_problem(given_command(app));
    if (!problem.empty()) throw CLI::ValidationError(problem);
  });
  app.parse(argc, argv);
}

/// "no such option: --bugdet; did you mean --budget? See autotune --help": one line without the
/// program's name. What stands in no --help comes before what CLI11 misses because of it.
inline std::string usage_problem(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = given_command(app);
  auto unknown = app.remaining(true);
  std::erase(unknown, "--");
  std::string what = value_problem(command);
  if (what.empty()) what = error.what();
  if (!unknown.empty()) {
    const std::string word = unknown.front().substr(0, unknown.front().find('='));
    std::vector<std::string> names;
    if (word.starts_with('-')) {
      for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      }
    } else if (&command == &app) {
      for (const CLI::App* one : app.get_subcommands({})) names.push_back(one->get_name());
    }
    const std::string meant = did_you_mean(word, names);
    const bool is_command = !word.starts_with('-') && !names.empty();
    what = is_command       ? "no such command: " + word + meant
           : !meant.empty() ? "no such option: " + word + meant
                            : "no such option or argument: " + CLI::detail::join(unknown, " ") +
                                  options_to_give(command);
  }
  const std::string help =
      app.get_name() + (&command == &app ? "" : " " + command.get_name()) + " --help";
  if (what.ends_with('?')) return what + " See " + help;
  // An example at the end is to be copied without a comma.
  return what.find(". ") == std::string::npos ? what + ", see " + help
                                              : what + " (see " + help + ")";
}

/// Parses the command line. The exit status if the program ends with that: after --help, or what
/// `report` gives of the problem.
template <typename Report>
std::optional<int> ended_by_parsing(CLI::App& app, int argc, char** argv, Report report) {
  try {
    parse_command_line(app, argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report(usage_problem(app, error));
  }
  return std::nullopt;
}

}  // namespace redline
