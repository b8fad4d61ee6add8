// Searches in names that std::string_view lacks: whether a name contains a text (C++23 has this) or
// one of several, is one of several words, or has a character of a set.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace redline {

/// std::string_view::contains.
[[nodiscard]] constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <typename Parts = std::initializer_list<std::string_view>>
[[nodiscard]] constexpr bool contains_any(std::string_view text, const Parts& parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return contains(text, part); });
}

template <size_t N>
[[nodiscard]] constexpr bool is_any(std::string_view word,
                                    const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

/// Which of the 256 bytes belong to a set. A look-up is one load; find_first_of would search the
/// set for each byte.
using ByteSet = std::array<bool, 256>;

[[nodiscard]] constexpr ByteSet byte_set(std::string_view members) {
  ByteSet set{};
  for (const char c : members) set[static_cast<uint8_t>(c)] = true;
  return set;
}

[[nodiscard]] constexpr bool is_in(const ByteSet& set, char c) {
  return set[static_cast<uint8_t>(c)];
}

}  // namespace redline
