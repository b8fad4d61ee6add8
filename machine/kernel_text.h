// Parses the kernel's text files, such as /proc/meminfo: lines, words, and the value behind a key.
// Nothing is copied, because the recorder reads some of these files many times a second.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/integer.h"

namespace redline::machine {

/// Removes the first line from `text` and returns it, without its end.
inline std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// Removes the first word from `line` and returns it; empty at the end.
inline std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const size_t end = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

/// The word that follows `key` in the first line that begins with it; empty if no line does.
inline std::string_view value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    return take_word(line);
  }
  return {};
}

/// Whether a mask of /proc/PID/status (proc 5), such as "CapEff:", has the bit.
[[nodiscard]] inline bool has_bit(std::string_view status, std::string_view mask, int bit) {
  const std::string_view word = value_of(status, mask);
  uint64_t bits = 0;
  std::from_chars(word.data(), word.data() + word.size(), bits, 16);
  return (bits >> bit & 1) != 0;
}

/// Whether a mask such as "SigCgt:" has the signal `number`.
[[nodiscard]] inline bool has_signal(std::string_view status, std::string_view mask, int number) {
  return has_bit(status, mask, number - 1);
}

/// The value behind `key`, which the kernel gives in KiB, in bytes.
[[nodiscard]] inline std::optional<int64_t> kibibytes_of(std::string_view text,
                                                         std::string_view key) {
  auto value = leading_integer(value_of(text, key));
  if (value) *value *= 1024;
  return value;
}

}  // namespace redline::machine
