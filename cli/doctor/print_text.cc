#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/doctor/print.h"

namespace redline::doctor {

namespace {

constexpr size_t kColumns = 80;
constexpr size_t kIndent = 16;

struct Symbol {
  const char* utf8;
  const char* ascii;
  const char* colour;
};

Symbol symbol_of(State state) {
  switch (state) {
    case State::kOk:
      return {"✓", "+", "\033[32m"};
    case State::kWarning:
      return {"!", "!", "\033[33m"};
    case State::kError:
      return {"✗", "x", "\033[31m"};
    case State::kAbsent:
      return {"-", "-", "\033[2m"};
  }
  return {"?", "?", ""};
}

/// Columns on a terminal: every byte that does not continue a UTF-8 sequence begins a character.
size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string plain(std::string text, bool utf8) {
  if (utf8) return text;
  for (size_t at; (at = text.find("…")) != std::string::npos;) text.replace(at, 3, "...");
  return text;
}

/// The end of a path that is too long for a line is what tells it from others.
std::string keep_tail(const std::string& text, bool utf8) {
  const std::string mark = utf8 ? "…" : "...";
  const size_t room = kColumns - kIndent;
  if (width(text) <= room) return text;
  return mark + text.substr(text.size() - (room - width(mark)));
}

/// Pieces with `separator` between them, on as many lines as they need; later lines indented.
std::string wrapped(const std::vector<std::string>& pieces, const std::string& separator) {
  std::string text;
  size_t column = kIndent;
  for (const std::string& piece : pieces) {
    const bool first = text.empty();
    const size_t needed = width(piece) + (first ? 0 : width(separator));
    if (!first && column + needed > kColumns) {
      text += "\n" + std::string(kIndent, ' ') + piece;
      column = kIndent + width(piece);
    } else {
      text += (first ? "" : separator) + piece;
      column += needed;
    }
  }
  return text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string line_of(const Check& check, Style style) {
  const Symbol symbol = symbol_of(check.state);
  const std::string mark = style.utf8 ? symbol.utf8 : symbol.ascii;
  std::vector<std::string> parts;
  for (const std::string& part : check.parts) {
    parts.push_back(keep_tail(plain(part, style.utf8), style.utf8));
  }
  std::string text = style.colour ? symbol.colour + mark + "\033[0m" : mark;
  text += fmt::format(" {:<14}{}\n", check.name, wrapped(parts, style.utf8 ? " · " : ", "));
  if (!check.cure.empty()) {
    text += std::string(kIndent, ' ') +
            wrapped(words_of("cure: " + plain(check.cure, style.utf8)), " ") + "\n";
  }
  return text;
}

std::string counted(int number, const char* thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string locale(value);
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](unsigned char byte) { return static_cast<char>(std::tolower(byte)); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

Style style_of(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  const bool refused = no_colour != nullptr && *no_colour != '\0';
  return {.utf8 = is_utf8_locale(), .colour = isatty(fd) == 1 && !refused};
}

int count(const std::vector<Check>& checks, State state) {
  return static_cast<int>(std::count_if(
      checks.begin(), checks.end(), [state](const Check& check) { return check.state == state; }));
}

std::string as_text(const std::vector<Check>& checks, Style style) {
  std::string text;
  for (const Check& check : checks) text += line_of(check, style);
  return text + counted(count(checks, State::kError), "error") + ", " +
         counted(count(checks, State::kWarning), "warning") + "\n";
}

}  // namespace redline::doctor
