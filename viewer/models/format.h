// Names and durations as people read them on the screen, and text as people search for it; other
// figures are those of base/format.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/format.h"

namespace redline::viewer {

/// "812 ns", "13.2 µs", "177.6 ms", "1.07 s", "2 min 5 s".
[[nodiscard]] std::string format_duration(int64_t ns);

/// As format_duration, exact to the nanosecond: "177.600123 ms".
[[nodiscard]] std::string format_duration_exact(int64_t ns);

/// A name as it stands where room is short: what a kernel returns tells none from another.
[[nodiscard]] std::string_view label_of(std::string_view name);

/// Broken UTF-8 becomes U+FFFD, control characters spaces: trace names hold anything.
[[nodiscard]] std::string printable(std::string_view text);

/// ASCII letters only: names in traces are code.
[[nodiscard]] inline char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Whether a text has another in it, whatever the case of its letters.
[[nodiscard]] inline bool contains_text(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

}  // namespace redline::viewer
