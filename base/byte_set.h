// Which of the 256 bytes belong to a set.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace redline {

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
