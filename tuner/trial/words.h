// Quantities as people read and write them: "7 min 12 s", "3.1 GiB", "1,204", "10m", "2GiB".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::tuner {

/// "8.2 s", "7 min 12 s", "3 h 5 min".
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);
/// "512 MiB", "3.1 GiB".
[[nodiscard]] std::string size_text(uint64_t bytes);
/// Three or more significant digits, thousands with commas: "9,012", "31.4", "0.052".
[[nodiscard]] std::string number_text(double value);
/// `value` with as many decimals as number_text(like) shows.
[[nodiscard]] std::string number_text_like(double value, double like);

/// "90", "90s", "10m", "1.5h". The error is a phrase: "… is no duration (…)".
[[nodiscard]] tl::expected<std::chrono::nanoseconds, std::string> parse_duration(
    const std::string& text);
/// "1500MB" (decimal), "1.5GiB", "2G" (binary, as ulimit and Slurm mean it), bytes without a unit.
[[nodiscard]] tl::expected<uint64_t, std::string> parse_size(const std::string& text);

/// The command as a POSIX shell would read it back.
[[nodiscard]] std::string shell_text(const std::vector<std::string>& command);

/// Symbols and control sequences for where the output goes.
struct Style {
  bool utf8 = false;
  bool colour = false;

  [[nodiscard]] const char* dot() const { return utf8 ? "·" : "-"; }
  [[nodiscard]] const char* plus_minus() const { return utf8 ? "±" : "+-"; }
  [[nodiscard]] std::string separator() const { return std::string(" ") + dot() + " "; }
  [[nodiscard]] std::string bold(const std::string& text) const;
};
/// Colour only on a terminal and without NO_COLOR; UTF-8 as the locale's variables say.
[[nodiscard]] Style style_for(int descriptor);

/// Of a terminal that does not tell its own.
constexpr size_t kLineWidth = 80;

/// Columns that `text` takes: UTF-8 continuation bytes count nothing.
[[nodiscard]] size_t width_of(const std::string& text);
/// `text` in `width` columns: padded to the right (or the left), cut with "~" where too long.
[[nodiscard]] std::string left(const std::string& text, size_t width);
[[nodiscard]] std::string right(const std::string& text, size_t width);

}  // namespace redline::tuner
