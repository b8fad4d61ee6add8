// Formats --help of all our programs within 80 columns.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/terminal.h"

namespace redline {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kFirstColumn); }

  // The text of a positional argument, such as PID|all, begins with its name. CLI11 has written the
  // name already.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string name = option->get_name(true), text = option->get_option_text();
    const bool repeats = option->get_positional() && text.starts_with(name);
    return repeats ? text.substr(name.size()) : CLI::Formatter::make_option_opts(option);
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return lines_of(CLI::Formatter::make_option_desc(option), kTerminalColumns - kFirstColumn);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::stringstream out;
    CLI::detail::format_help(out, command->get_name(),
                             lines_of(command->get_description(), kTerminalColumns - kFirstColumn),
                             kFirstColumn);
    return out.str();
  }
  std::string make_description(const CLI::App* app) const override {
    return lines_of(app->get_description(), kTerminalColumns) + "\n";
  }
  std::string make_footer(const CLI::App* app) const override {
    return paragraphs(app->get_footer());
  }

 private:
  static constexpr size_t kFirstColumn = 26;

  static std::string lines_of(const std::string& text, size_t width) {
    return joined(wrapped(text, width), "\n");
  }

  // Wraps paragraphs. Indented lines are examples and stay as they are, and so do headings.
  static std::string paragraphs(const std::string& text) {
    std::stringstream lines(text);
    std::string line, paragraph, out;
    const auto end_paragraph = [&] {
      if (!paragraph.empty()) out += lines_of(paragraph, kTerminalColumns) + "\n";
      paragraph.clear();
    };
    while (std::getline(lines, line)) {
      const bool is_fixed = line.empty() || line.front() == ' ' || line.back() == ':';
      if (is_fixed) {
        end_paragraph();
        out += line + "\n";
      } else {
        paragraph += (paragraph.empty() ? "" : " ") + line;
      }
    }
    end_paragraph();
    return out;
  }
};

/// Call it before subcommands are added, because they inherit the formatter.
inline void format_help(CLI::App& app) { app.formatter(std::make_shared<HelpFormatter>()); }

}  // namespace redline
