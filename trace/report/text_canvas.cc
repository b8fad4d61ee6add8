#include "trace/report/text_canvas.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace redline::trace {
namespace {

bool continues(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

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
    default:
      return "";
  }
}

// The few symbols that our own texts use, in ASCII.
std::string to_ascii(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kReplacements = {
      {{"·", "|"}, {"±", "+-"}, {"…", "..."}, {"→", "->"}}};
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t taken = 1;
    std::string_view put = text.substr(at, 1);
    if (static_cast<uint8_t>(text[at]) >= 0x80) {
      put = "?";
      while (at + taken < text.size() && continues(text[at + taken])) ++taken;
      for (const auto& [symbol, ascii] : kReplacements) {
        if (text.substr(at, taken) == symbol) put = ascii;
      }
    }
    out += put;
    at += taken;
  }
  return out;
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    return ::strcasestr(value, "utf-8") != nullptr || ::strcasestr(value, "utf8") != nullptr;
  }
  return false;
}

}  // namespace

TextStyle stdout_style() {
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const char* no_colour = std::getenv("NO_COLOR");
  TextStyle style;
  style.colour = terminal && (no_colour == nullptr || *no_colour == '\0');
  style.utf8 = locale_is_utf8();
  return style;
}

size_t columns(std::string_view utf8) {
  return static_cast<size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return !continues(c); }));
}

std::string elide(std::string_view utf8, size_t width) {
  const bool cut = columns(utf8) > width;
  const size_t keep = cut && width > 0 ? width - 1 : width;
  std::string out;
  size_t taken = 0;
  for (const char c : utf8) {
    if (!continues(c) && taken++ == keep) break;
    const bool control = static_cast<uint8_t>(c) < ' ' || c == '\x7f';
    out += control ? '?' : c;
  }
  return cut ? out + "…" : out;
}

void TextCanvas::put(std::string_view text, Hue hue) {
  const std::string shown = style_.utf8 ? std::string(text) : to_ascii(text);
  const bool coloured = style_.colour && hue != Hue::kNone && !shown.empty();
  if (coloured) line_ += escape_of(hue);
  line_ += shown;
  if (coloured) line_ += "\x1b[0m";
}

TextCanvas& TextCanvas::left(std::string_view text, size_t width, Hue hue) {
  const std::string shown = width == 0 ? std::string(text) : elide(text, width);
  put(shown, hue);
  if (columns(shown) < width) line_.append(width - columns(shown), ' ');
  return *this;
}

TextCanvas& TextCanvas::right(std::string_view text, size_t width, Hue hue) {
  if (columns(text) < width) line_.append(width - columns(text), ' ');
  put(text, hue);
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
  put(bar, hue);
  return *this;
}

TextCanvas& TextCanvas::end_line() {
  while (!line_.empty() && line_.back() == ' ') line_.pop_back();
  out_ += line_ + "\n";
  line_.clear();
  return *this;
}

std::string TextCanvas::take() { return std::move(out_); }

}  // namespace redline::trace
