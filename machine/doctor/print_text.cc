#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "machine/doctor/judge.h"

namespace redline::doctor {

namespace {

constexpr size_t kIndent = 16;
constexpr size_t kWidth = kTerminalColumns - kIndent;

std::string symbol_of(State state, const TextStyle& style) {
  switch (state) {
    case State::kOk:
      return style.painted("✓", Hue::kGreen);
    case State::kWarning:
      return style.painted("!", Hue::kYellow);
    case State::kError:
      return style.painted("✗", Hue::kRed);
    case State::kAbsent:
      break;
  }
  return style.painted("-", Hue::kDim);
}

/// Cuts the beginning of a path that is too long for a line, because paths differ at their ends.
std::string keep_tail(const std::string& text, const TextStyle& style) {
  const std::string mark = style.shown("…");
  if (columns(text) <= kWidth) return text;
  return mark + text.substr(text.size() - (kWidth - columns(mark)));
}

std::string indented(const std::vector<std::string>& lines) {
  return joined(lines, "\n" + std::string(kIndent, ' ')) + "\n";
}

std::string line_of(const Check& check, const TextStyle& style) {
  std::vector<std::string> parts;
  for (const std::string& part : check.parts) {
    parts.push_back(keep_tail(style.shown(part), style));
  }
  std::string text = fmt::format("{} {:<14}", symbol_of(check.state, style), check.name) +
                     indented(wrapped(parts, style.utf8 ? " · " : ", ", kWidth));
  if (check.cure.empty()) return text;
  return text + std::string(kIndent, ' ') +
         indented(wrapped("cure: " + style.shown(check.cure), kWidth));
}

}  // namespace

int count(const std::vector<Check>& checks, State state) {
  return static_cast<int>(std::ranges::count(checks, state, &Check::state));
}

std::string as_text(const std::vector<Check>& checks, const TextStyle& style) {
  std::string text;
  for (const Check& check : checks) text += line_of(check, style);
  return text + format_plural(count(checks, State::kError), "error") + ", " +
         format_plural(count(checks, State::kWarning), "warning") + "\n";
}

}  // namespace redline::doctor
