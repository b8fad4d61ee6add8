// Reads a whole number out of a text.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace redline {

/// nullopt if not all of the text is one number that fits.
template <std::integral Integer = int64_t>
[[nodiscard]] std::optional<Integer> parse_integer(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The number that `text` begins with; nullopt if there is none that fits.
template <std::integral Integer = int64_t>
[[nodiscard]] std::optional<Integer> leading_integer(std::string_view text) {
  Integer value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace redline
