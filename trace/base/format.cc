#include "trace/base/format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

namespace redline::trace {
namespace {

struct Unit {
  double size;
  const char* name;
};

// One decimal; the largest unit that the value fills, the smallest one without decimals.
template <size_t N>
std::string format_in(double value, const std::array<Unit, N>& units) {
  for (size_t i = 0; i + 1 < N; ++i) {
    if (std::abs(value) >= units[i].size * 0.99995) {
      return fmt::format("{:.1f} {}", value / units[i].size, units[i].name);
    }
  }
  return fmt::format("{:.0f} {}", value, units.back().name);
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

std::string format_percent(double share) { return fmt::format("{:.1f} %", share * 100); }

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
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

}  // namespace redline::trace
