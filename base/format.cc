#include "base/format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

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

// One decimal; the largest unit that the value fills, the smallest one without decimals.
template <size_t N>
std::string format_in(double value, const std::array<Unit, N>& units) {
  for (size_t i = 0; i + 1 < N; ++i) {
    if (std::abs(value) >= units[i].size * 0.99995) {
      return fixed(value / units[i].size, 1) + " " + units[i].name;
    }
  }
  return fixed(value, 0) + " " + units.back().name;
}

}  // namespace

std::string format_ns(int64_t ns) {
  constexpr std::array<Unit, 4> kUnits{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  return format_in(static_cast<double>(ns), kUnits);
}

std::string format_bytes(int64_t bytes) {
  constexpr std::array<Unit, 5> kUnits{{{1099511627776.0, "TiB"},
                                        {1073741824.0, "GiB"},
                                        {1048576.0, "MiB"},
                                        {1024.0, "KiB"},
                                        {1, "B"}}};
  return format_in(static_cast<double>(bytes), kUnits);
}

std::string format_bandwidth(double bytes_per_second) {
  constexpr std::array<Unit, 5> kUnits{
      {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}};
  return format_in(bytes_per_second, kUnits);
}

std::string format_percent(double share) { return fixed(share * 100, 1) + " %"; }

std::string format_count(int64_t count) {
  const std::string digits = std::to_string(count);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    const size_t left = digits.size() - i;
    if (i > 0 && left % 3 == 0 && grouped != "-") grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string format_plural(int64_t count, const char* noun) {
  return format_count(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace redline
