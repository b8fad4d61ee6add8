// Decimal microseconds as Kineto writes them, to nanoseconds, eight digits at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace redline::trace {

/// The number of the eight decimal digits at `at`, none where one is no digit.
[[nodiscard]] inline std::optional<uint32_t> parse_eight_digits(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t digits;
  std::memcpy(&digits, at, sizeof digits);
  const uint64_t values = digits - 0x3030303030303030;
  if (((values | (values + 0x7676767676767676)) & 0x8080808080808080) != 0) return std::nullopt;
  // Pairs of digits, then pairs of pairs, then both halves, each in one multiplication.
  const uint64_t pairs = values * 10 + (values >> 8);
  return static_cast<uint32_t>(
      ((pairs & 0x000000FF000000FF) * (100 + (uint64_t{1'000'000} << 32)) +
       ((pairs >> 16) & 0x000000FF000000FF) * (1 + (uint64_t{10'000} << 32))) >>
      32);
}

/// Nanoseconds of "1712195495519689.047" or "63": up to 16 digits, then nothing, or a point
/// and three digits. None for any other form, though it may be a number, too, and past 2042.
[[nodiscard]] inline std::optional<int64_t> parse_kineto_time_ns(std::string_view token) {
  int64_t value = 0;
  size_t at = 0;
  for (; at + 8 <= token.size() && at < 16; at += 8) {
    const auto digits = parse_eight_digits(token.data() + at);
    if (!digits) break;
    value = value * 100'000'000 + *digits;
  }
  const auto is_digit = [&] { return at < token.size() && token[at] >= '0' && token[at] <= '9'; };
  for (; is_digit() && at < 16; ++at) value = value * 10 + (token[at] - '0');
  if (at == 0 || value > INT64_MAX / 4 / 1000) return std::nullopt;
  if (at == token.size()) return value * 1000;
  if (token[at] != '.' || token.size() != at + 4) return std::nullopt;
  for (++at; is_digit(); ++at) value = value * 10 + (token[at] - '0');
  if (at != token.size()) return std::nullopt;
  return value;
}

}  // namespace redline::trace
