// What is wrong with a command line, in the words that all our programs use.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/nearest.h"

namespace redline {

/// "no such option: --bugdet; did you mean --budget? See autotune --help": one line without the
/// program's name. What stands in no --help comes before what CLI11 misses because of it.
inline std::string usage_problem(const CLI::App& app, const CLI::ParseError& error) {
  const auto commands = app.get_subcommands();
  const CLI::App& command = commands.empty() ? app : *commands.front();
  auto unknown = app.remaining(true);
  std::erase(unknown, "--");
  std::string what = error.what();
  if (!unknown.empty()) {
    const std::string word = unknown.front().substr(0, unknown.front().find('='));
    std::vector<std::string> names;
    if (word.starts_with('-')) {
      for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      }
    } else if (commands.empty()) {
      for (const CLI::App* one : app.get_subcommands({})) names.push_back(one->get_name());
    }
    const std::string meant = did_you_mean(word, names);
    const bool is_command = !word.starts_with('-') && !names.empty();
    what = is_command       ? "no such command: " + word + meant
           : !meant.empty() ? "no such option: " + word + meant
                            : "no such option or argument: " + CLI::detail::join(unknown, " ");
  }
  const std::string help =
      app.get_name() + (&command == &app ? "" : " " + command.get_name()) + " --help";
  if (what.ends_with('?')) return what + " See " + help;
  // An example at the end is to be copied without a comma.
  return what.find(". ") == std::string::npos ? what + ", see " + help
                                              : what + " (see " + help + ")";
}

}  // namespace redline
