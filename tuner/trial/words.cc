#include "tuner/trial/words.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>

namespace redline::tuner {
namespace {

/// A positive number and the unit behind it.
std::optional<std::pair<double, std::string_view>> number_and_unit(std::string_view text) {
  double number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || !std::isfinite(number) || number <= 0) return std::nullopt;
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  return std::pair(number, unit);
}

std::string with_commas(std::string digits) {
  const size_t begin = digits.starts_with('-') ? 1 : 0;
  for (size_t at = std::min(digits.find('.'), digits.size()); at > begin + 3;) {
    digits.insert(at -= 3, ",");
  }
  return digits;
}

}  // namespace

std::string duration_text(std::chrono::nanoseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = std::llround(seconds);
  const bool hours = whole >= 3600;
  const auto [large, small] =
      hours ? std::pair(whole / 3600, whole % 3600 / 60) : std::pair(whole / 60, whole % 60);
  std::string text = fmt::format("{} {}", large, hours ? "h" : "min");
  if (small > 0) text += fmt::format(" {} {}", small, hours ? "min" : "s");
  return text;
}

std::string size_text(uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (number >= 0x1p30) return fmt::format("{:.1f} GiB", number / 0x1p30);
  if (number >= 0x1p20) return fmt::format("{:.0f} MiB", number / 0x1p20);
  return fmt::format("{:.0f} KiB", number / 0x1p10);
}

std::string number_text(double value) { return number_text_like(value, value); }

std::string number_text_like(double value, double like) {
  const double size = std::fabs(like);
  const int decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 4;
  return with_commas(fmt::format("{:.{}f}", value, decimals));
}

tl::expected<std::chrono::nanoseconds, std::string> parse_duration(const std::string& text) {
  const auto parts = number_and_unit(text);
  double scale = 0;
  if (parts) {
    const std::string_view unit = parts->second;
    if (unit.empty() || unit == "s") scale = 1;
    if (unit == "m" || unit == "min") scale = 60;
    if (unit == "h") scale = 3600;
  }
  constexpr double kMostSeconds = 365.0 * 24 * 3600;
  if (scale == 0 || parts->first * scale > kMostSeconds) {
    return tl::unexpected(fmt::format("'{}' is no duration. Example: 90s, 10m, 1.5h", text));
  }
  return std::chrono::nanoseconds(std::llround(parts->first * scale * 1e9));
}

tl::expected<uint64_t, std::string> parse_size(const std::string& text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  static constexpr std::array<Unit, 13> kUnits = {{{"", 1},
                                                   {"B", 1},
                                                   {"K", 0x1p10},
                                                   {"KiB", 0x1p10},
                                                   {"KB", 1e3},
                                                   {"M", 0x1p20},
                                                   {"MiB", 0x1p20},
                                                   {"MB", 1e6},
                                                   {"G", 0x1p30},
                                                   {"GiB", 0x1p30},
                                                   {"GB", 1e9},
                                                   {"T", 0x1p40},
                                                   {"TiB", 0x1p40}}};
  if (const auto parts = number_and_unit(text)) {
    for (const Unit& unit : kUnits) {
      if (parts->second != unit.name || parts->first * unit.bytes >= 0x1p62) continue;
      return static_cast<uint64_t>(std::llround(parts->first * unit.bytes));
    }
  }
  return tl::unexpected(fmt::format("'{}' is no size. Example: 1500MB, 1.5GiB", text));
}

std::string shell_text(const std::vector<std::string>& command) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_-./=:,@%+").find(c) != std::string_view::npos;
  };
  std::string result;
  for (const std::string& word : command) {
    if (!result.empty()) result += ' ';
    if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) {
      result += word;
      continue;
    }
    result += '\'';
    for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    result += '\'';
  }
  return result;
}

std::string Style::bold(const std::string& text) const {
  return colour ? "\x1b[1m" + text + "\x1b[0m" : text;
}

Style style_for(int descriptor) {
  Style style;
  style.colour = isatty(descriptor) && !std::getenv("NO_COLOR");
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || *value == '\0') continue;
    const std::string_view text(value);
    style.utf8 =
        text.find("UTF-8") != std::string_view::npos || text.find("utf8") != std::string_view::npos;
    break;
  }
  return style;
}

size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

namespace {

std::string cut(const std::string& text, size_t width) {
  if (width_of(text) <= width) return text;
  std::string result;
  size_t columns = 0;
  for (const char c : text) {
    if ((c & 0xC0) != 0x80 && ++columns >= width) break;
    result += c;
  }
  return result + "~";
}

}  // namespace

std::string left(const std::string& text, size_t width) {
  const std::string shown = cut(text, width);
  return shown + std::string(width - width_of(shown), ' ');
}

std::string right(const std::string& text, size_t width) {
  const std::string shown = cut(text, width);
  return std::string(width - width_of(shown), ' ') + shown;
}

}  // namespace redline::tuner
