// Checks of numbers on the command line: "" or what is wrong, which CLI11 puts behind the option's
// name.
#pragma once

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace redline {

/// Not a number where `text` is none, or only begins with one.
inline double number_in(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const bool is_whole = error == std::errc() && rest == end && std::isfinite(number);
  return is_whole ? number : std::numeric_limits<double>::quiet_NaN();
}

inline std::string above_zero(const std::string& text) {
  return number_in(text) > 0 ? "" : "must be a number above 0, not '" + text + "'";
}

}  // namespace redline
