#include "base/format.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace redline {
namespace {

struct Unit {
  double size;
  const char* name;
};

std::string fixed(double value, int decimals) {
  std::array<char, 400> digits;  // the largest double has 309 before the point
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                          std::chars_format::fixed, decimals);
  return error == std::errc() ? std::string(digits.data(), end) : std::string("?");
}

// Chooses the largest unit of which the value has at least one, and writes one decimal. The
// smallest unit has no decimals.
template <size_t N>
std::string format_in(double value, const std::array<Unit, N>& units) {
  for (size_t i = 0; i + 1 < N; ++i) {
    if (std::abs(value) >= units[i].size * 0.99995) {
      return fixed(value / units[i].size, 1) + " " + units[i].name;
    }
  }
  return fixed(value, 0) + " " + units.back().name;
}

std::string with_commas(std::string digits) {
  const size_t begin = digits.starts_with('-') ? 1 : 0;
  for (size_t at = std::min(digits.find('.'), digits.size()); at > begin + 3;) {
    digits.insert(at -= 3, ",");
  }
  return digits;
}

bool is_plain_in_shell(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-./=:,@%+").find(c) != std::string_view::npos;
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// Splits a text into a number above 0 and the unit behind it.
std::optional<std::pair<double, std::string_view>> number_and_unit(std::string_view text) {
  double number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || !std::isfinite(number) || number <= 0) return std::nullopt;
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  return std::pair(number, unit);
}

bool is_unit(std::string_view typed, std::string_view unit) {
  return std::equal(typed.begin(), typed.end(), unit.begin(), unit.end(),
                    [](char a, char b) { return std::tolower(a) == std::tolower(b); });
}

}  // namespace

std::string format_ns(int64_t ns) {
  constexpr std::array<Unit, 4> kUnits{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  return format_in(static_cast<double>(ns), kUnits);
}

std::string format_wait(std::chrono::nanoseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds < 59.95) return fixed(seconds, 1) + " s";
  const auto whole = std::llround(seconds);
  const bool hours = whole >= 3600;
  const auto [large, small] =
      hours ? std::pair(whole / 3600, whole % 3600 / 60) : std::pair(whole / 60, whole % 60);
  std::string text = std::to_string(large) + (hours ? " h" : " min");
  if (small > 0) text += " " + std::to_string(small) + (hours ? " min" : " s");
  return text;
}

std::string format_bytes(WholeNumber bytes) {
  constexpr std::array<Unit, 5> kUnits{{{1099511627776.0, "TiB"},
                                        {1073741824.0, "GiB"},
                                        {1048576.0, "MiB"},
                                        {1024.0, "KiB"},
                                        {1, "B"}}};
  return format_in(static_cast<double>(bytes.value()), kUnits);
}

std::string format_bandwidth(double bytes_per_second) {
  constexpr std::array<Unit, 5> kUnits{
      {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}};
  return format_in(bytes_per_second, kUnits);
}

std::string format_percent(double share) { return fixed(share * 100, 1) + " %"; }

std::string format_count(WholeNumber count) { return with_commas(std::to_string(count.value())); }

std::string format_plural(WholeNumber count, const char* noun) {
  return format_count(count) + " " + noun + (count.value() == 1 ? "" : "s");
}

std::string format_ranks(const std::vector<int>& ranks, size_t most) {
  if (ranks.empty()) return "";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(most, ranks.size()); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > most) text += " and " + std::to_string(ranks.size() - most) + " more";
  return text;
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

std::string format_number(double value) { return format_number_like(value, value); }

std::string format_number_like(double value, double like) {
  const double size = std::fabs(like);
  const bool is_whole = !(size > 0 && size < 99.95);  // also true if it is not a number
  const int decimals =
      is_whole ? 0 : std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 0, 6);
  return with_commas(fixed(value, decimals));
}

std::string format_command(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    const bool is_plain = !word.empty() && std::ranges::all_of(word, is_plain_in_shell);
    text += is_plain ? word : quoted(word);
  }
  return text;
}

double number_in(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const bool is_whole = error == std::errc() && rest == end && std::isfinite(number);
  return is_whole ? number : std::numeric_limits<double>::quiet_NaN();
}

std::string above_zero(const std::string& text) {
  return number_in(text) > 0 ? "" : "must be a number above 0, not '" + text + "'";
}

tl::expected<std::chrono::nanoseconds, std::string> parse_duration(const std::string& text) {
  const auto parts = number_and_unit(text);
  double scale = 0;
  if (parts) {
    const std::string_view unit = parts->second;
    if (is_unit(unit, "ms")) scale = 1e-3;
    if (unit.empty() || is_unit(unit, "s")) scale = 1;
    if (is_unit(unit, "m") || is_unit(unit, "min")) scale = 60;
    if (is_unit(unit, "h")) scale = 3600;
  }
  constexpr double kMostSeconds = 365.0 * 24 * 3600;
  if (scale == 0 || parts->first * scale > kMostSeconds) {
    return tl::unexpected("'" + text + "' is no duration. Example: 90s, 10m, 1.5h");
  }
  return std::chrono::nanoseconds(std::llround(parts->first * scale * 1e9));
}

tl::expected<uint64_t, std::string> parse_size(const std::string& text) {
  constexpr std::array<Unit, 17> kUnits = {{{1, ""},
                                            {1, "B"},
                                            {0x1p10, "K"},
                                            {0x1p10, "Ki"},
                                            {0x1p10, "KiB"},
                                            {1e3, "KB"},
                                            {0x1p20, "M"},
                                            {0x1p20, "Mi"},
                                            {0x1p20, "MiB"},
                                            {1e6, "MB"},
                                            {0x1p30, "G"},
                                            {0x1p30, "Gi"},
                                            {0x1p30, "GiB"},
                                            {1e9, "GB"},
                                            {0x1p40, "T"},
                                            {0x1p40, "Ti"},
                                            {0x1p40, "TiB"}}};
  if (const auto parts = number_and_unit(text)) {
    for (const Unit& unit : kUnits) {
      if (!is_unit(parts->second, unit.name) || parts->first * unit.size >= 0x1p62) continue;
      return static_cast<uint64_t>(std::llround(parts->first * unit.size));
    }
  }
  return tl::unexpected("'" + text + "' is no size. Example: 1500MB, 1.5GiB");
}

tl::expected<double, std::string> parse_percent(const std::string& text) {
  if (text == "0%") return 0;
  const auto parts = number_and_unit(text);
  if (parts && parts->second == "%") return parts->first / 100;
  return tl::unexpected("'" + text + "' is no share. Example: 5%, 0.5%");
}

}  // namespace redline
