#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/printable.h"

namespace redline {
namespace {

const char* escape_of(Hue hue) {
  switch (hue) {
    case Hue::kBold:
      return "\x1b[1m";
    case Hue::kDim:
      return "\x1b[2m";
    case Hue::kBlue:
      return "\x1b[38;5;33m";
    case Hue::kOrange:
      return "\x1b[38;5;208m";
    case Hue::kGreen:
      return "\x1b[38;5;35m";
    case Hue::kRed:
      return "\x1b[38;5;160m";
    case Hue::kViolet:
      return "\x1b[38;5;103m";
    case Hue::kYellow:
      return "\x1b[38;5;178m";
    case Hue::kNone:
      break;
  }
  return "";
}

std::string_view ascii_of(std::string_view symbol) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kSymbols = {
      {{"·", "|"}, {"±", "+-"}, {"…", "..."}, {"→", "->"}, {"✓", "+"}, {"✗", "x"}, {"°", ""}}};
  for (const auto& [ours, ascii] : kSymbols) {
    if (symbol == ours) return ascii;
  }
  return "?";
}

std::string to_ascii(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      out += text[at++];
      continue;
    }
    const size_t begin = at++;
    while (at < text.size() && continues_letter(text[at])) ++at;
    out += ascii_of(text.substr(begin, at - begin));
  }
  return out;
}

/// The variable's value; nullptr if it is not set or empty, which counts the same.
const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = variable(name);
    if (value == nullptr) continue;
    return strcasestr(value, "utf-8") != nullptr || strcasestr(value, "utf8") != nullptr;
  }
  return false;
}

size_t missing(std::string_view text, size_t width) {
  return width - std::min(width, columns(text));
}

}  // namespace

std::string TextStyle::shown(std::string_view text) const {
  return utf8 ? std::string(text) : to_ascii(text);
}

std::string TextStyle::painted(std::string_view text, Hue hue) const {
  if (!colour || hue == Hue::kNone || text.empty()) return shown(text);
  return escape_of(hue) + shown(text) + "\x1b[0m";
}

std::string TextStyle::left(std::string_view text, size_t width) const {
  const std::string cell = elide(shown(text), width, utf8 ? "…" : "...");
  return cell + std::string(missing(cell, width), ' ');
}

std::string TextStyle::right(std::string_view text, size_t width) const {
  const std::string cell = elide(shown(text), width, utf8 ? "…" : "...");
  return std::string(missing(cell, width), ' ') + cell;
}

bool is_screen(int descriptor) {
  const char* const kind = variable("TERM");
  return ::isatty(descriptor) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

TextStyle style_of(int descriptor) {
  return {.colour = is_screen(descriptor) && variable("NO_COLOR") == nullptr,
          .utf8 = locale_is_utf8()};
}

ScreenSize screen_size(int descriptor) {
  winsize size = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_row < 2 || size.ws_col < 2) return {};
  return {.rows = size.ws_row, .columns = size.ws_col};
}

size_t columns(std::string_view utf8) {
  return static_cast<size_t>(
      std::ranges::count_if(utf8, [](char c) { return !continues_letter(c); }));
}

std::string_view last_columns(std::string_view utf8, size_t width) {
  size_t begin = utf8.size();
  for (size_t left = width; left > 0 && begin > 0; --left) {
    do --begin;
    while (begin > 0 && continues_letter(utf8[begin]));
  }
  return utf8.substr(begin);
}

std::string elide(std::string_view utf8, size_t width, std::string_view mark) {
  std::string shown = printable(utf8, "?");
  if (columns(shown) <= width) return shown;
  const size_t keep = width - std::min(width, columns(mark));
  size_t taken = 0;
  const auto end =
      std::ranges::find_if(shown, [&](char c) { return !continues_letter(c) && taken++ == keep; });
  shown.erase(end, shown.end());
  return shown.append(mark);
}

std::string elide_middle(std::string_view utf8, size_t width) {
  if (columns(utf8) <= width || width < 4) return elide(utf8, width);
  const size_t tail = (width - 1) / 3, head = width - 1 - tail;
  return elide(utf8, head + 1) + elide(last_columns(utf8, tail), tail);
}

std::string cut_painted(std::string_view line, size_t width) {
  std::string shown;
  size_t taken = 0;
  bool is_escape = false;
  for (const char c : line) {
    is_escape = is_escape || c == '\x1b';
    if (!is_escape && !continues_letter(c)) ++taken;
    if (is_escape || taken <= width) shown += c;
    is_escape = is_escape && c != 'm';
  }
  return shown;
}

std::vector<std::string> wrapped(const std::vector<std::string>& pieces, std::string_view separator,
                                 size_t width) {
  std::vector<std::string> lines;
  for (const std::string& piece : pieces) {
    if (!lines.empty() && columns(lines.back()) + columns(separator) + columns(piece) <= width) {
      lines.back().append(separator).append(piece);
    } else {
      lines.push_back(piece);
    }
  }
  return lines;
}

std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return wrapped(words, " ", width);
}

std::string joined(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string text;
  for (const std::string& piece : pieces) {
    if (&piece != &pieces.front()) text += separator;
    text += piece;
  }
  return text;
}

TextCanvas& TextCanvas::left(std::string_view text, size_t width, Hue hue) {
  const std::string shown = width == 0 ? printable(text, "?") : elide(text, width);
  line_ += style_.painted(shown, hue) + std::string(missing(shown, width), ' ');
  return *this;
}

TextCanvas& TextCanvas::right(std::string_view text, size_t width, Hue hue) {
  const std::string shown = printable(text, "?");
  line_ += std::string(missing(shown, width), ' ') + style_.painted(shown, hue);
  return *this;
}

TextCanvas& TextCanvas::bar(double share, size_t width, Hue hue) {
  constexpr std::array kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double length = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  std::string bar;
  if (style_.utf8) {
    const auto eighths = static_cast<size_t>(std::lround(length * 8));
    for (size_t i = 0; i < eighths / 8; ++i) bar += "█";
    bar += kEighths[eighths % 8];
  } else {
    bar.append(static_cast<size_t>(std::lround(length)), '#');
  }
  line_ += style_.painted(bar, hue);
  return *this;
}

TextCanvas& TextCanvas::notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    for (const std::string& line : wrapped(note, kTerminalColumns - 2)) {
      left("  ").dim_line(line);
    }
  }
  return *this;
}

TextCanvas& TextCanvas::end_line() {
  while (!line_.empty() && line_.back() == ' ') line_.pop_back();
  out_ += line_ + "\n";
  line_.clear();
  return *this;
}

}  // namespace redline
