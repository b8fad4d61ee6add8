#include "viewer/models/format.h"

#include <fmt/format.h>

#include <QRegularExpression>
#include <QString>
#include <cmath>

namespace redline::viewer {
namespace {

struct ShortUnit {
  double size_ns;
  const char* name;
};
/// A unit that is used from twice its size on; the rest is given in the next smaller unit.
struct LongUnit {
  const char* name;
  const char* part_name;
  int64_t part_s;
  int64_t parts;
};
constexpr LongUnit kLongUnits[] = {{"d", "h", 3600, 24}, {"h", "min", 60, 60}, {"min", "s", 1, 60}};
constexpr ShortUnit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};

// Writes three to four digits: 1.07, 13.2, 177.6.
std::string with_digits(double value) {
  return fmt::format("{:.{}f}", value, std::abs(value) < 9.995 ? 2 : 1);
}

}  // namespace

std::string format_duration(int64_t ns) {
  const double value = static_cast<double>(ns);
  for (const LongUnit& unit : kLongUnits) {
    const int64_t count = ns / 1'000'000'000 / unit.part_s;
    if (std::abs(count) < 2 * unit.parts) continue;
    return fmt::format("{} {} {} {}", count / unit.parts, unit.name, std::abs(count % unit.parts),
                       unit.part_name);
  }
  for (const ShortUnit& unit : kUnits) {
    if (std::abs(value) >= unit.size_ns) {
      return fmt::format("{} {}", with_digits(value / unit.size_ns), unit.name);
    }
  }
  return fmt::format("{} ns", ns);
}

std::string format_duration_exact(int64_t ns) {
  const double value = static_cast<double>(ns);
  for (const ShortUnit& unit : kUnits) {
    if (std::abs(value) >= unit.size_ns) {
      const int digits = static_cast<int>(std::lround(std::log10(unit.size_ns)));
      return fmt::format("{:.{}f} {}", value / unit.size_ns, digits, unit.name);
    }
  }
  return fmt::format("{} ns", ns);
}

std::string format_time(int64_t ns) { return (ns < 0 ? "" : "+") + format_duration(ns); }

std::string format_time_exact(int64_t ns) {
  return (ns < 0 ? "" : "+") + format_duration_exact(ns);
}

std::string format_change(int64_t ns) { return (ns > 0 ? "+" : "") + format_duration(ns); }

std::string_view label_of(std::string_view name) {
  constexpr std::string_view kResult = "void ";
  if (name.starts_with(kResult)) name.remove_prefix(kResult.size());
  return name;
}

std::string typeset(const std::string& words) {
  static const QRegularExpression kMicroseconds(QStringLiteral("(\\d) us\\b"));
  static const QRegularExpression kTimes(QStringLiteral("(\\d) x\\b"));
  return QString::fromStdString(words)
      .replace(kMicroseconds, QStringLiteral("\\1 µs"))
      .replace(kTimes, QStringLiteral("\\1 ×"))
      .toStdString();
}

}  // namespace redline::viewer
