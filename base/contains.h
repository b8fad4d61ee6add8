// Words in names and among others.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace redline {

/// std::string_view::contains, which comes with C++23.
[[nodiscard]] constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <size_t N>
[[nodiscard]] constexpr bool is_any(std::string_view word,
                                    const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace redline
