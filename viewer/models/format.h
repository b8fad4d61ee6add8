// Writes names and durations as people read them on the screen, and compares text as people search
// for it. base/format.h writes all other figures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/format.h"
#include "base/printable.h"

namespace redline::viewer {

/// "812 ns", "13.2 µs", "177.6 ms", "1.07 s", "2 min 5 s".
[[nodiscard]] std::string format_duration(int64_t ns);

/// Like format_duration(), but exact to the nanosecond: "177.600123 ms".
[[nodiscard]] std::string format_duration_exact(int64_t ns);

/// When something is, by the session's axis: "+13.2 µs"; "-13.2 µs" lies before its zero.
[[nodiscard]] std::string format_time(int64_t ns);
[[nodiscard]] std::string format_time_exact(int64_t ns);

/// By how much a time has changed: "+13.2 µs", "-13.2 µs", "0 ns".
[[nodiscard]] std::string format_change(int64_t ns);

/// A name for places with little room: a kernel's name without its return type, which is the same
/// for most kernels.
[[nodiscard]] std::string_view label_of(std::string_view name);

/// The report writes plain ASCII for terminals; this makes "µs" of its "us" and "×" of its "x".
[[nodiscard]] std::string typeset(const std::string& words);

/// Only changes ASCII letters, because names in traces are code.
[[nodiscard]] inline char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Whether `text` contains `part`, whatever the case of their letters.
[[nodiscard]] inline bool contains_text(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

/// Whether `text` is what somebody looks for in a field: it contains the words, or is what stands
/// in quotes ("GPU 1" is not GPU 10).
[[nodiscard]] inline bool is_wanted(std::string_view text, std::string_view wanted) {
  const bool is_whole = wanted.size() > 2 && wanted.front() == '"' && wanted.back() == '"';
  return is_whole ? text == wanted.substr(1, wanted.size() - 2) : contains_text(text, wanted);
}

}  // namespace redline::viewer
