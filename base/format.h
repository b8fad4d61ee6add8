// Quantities as people read them ("7 min 12 s", "3.1 GiB", "1,204") and as they type them ("10m",
// "2GiB"). Sizes are binary (KiB, MiB, …), rates of bytes decimal (MB/s, as vendors give them).
//
// Nothing depends on the locale: std::to_chars and std::from_chars, so that a report reads the same
// everywhere and fmt stays out of what enters training processes.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace redline {

/// A count or a size of whatever integer type; one beyond int64_t stands at its limit.
class WholeNumber {
 public:
  template <std::integral Integer>
  constexpr WholeNumber(Integer value)
      : value_(std::in_range<int64_t>(value) ? static_cast<int64_t>(value)
               : value > 0                   ? std::numeric_limits<int64_t>::max()
                                             : std::numeric_limits<int64_t>::min()) {}
  [[nodiscard]] constexpr int64_t value() const { return value_; }

 private:
  int64_t value_;
};

[[nodiscard]] std::string format_ns(int64_t ns);  ///< "177.6 ms", "12.0 us"
/// What a person waits for: "8.2 s", "7 min 12 s", "3 h 5 min".
[[nodiscard]] std::string format_wait(std::chrono::nanoseconds duration);
[[nodiscard]] std::string format_bytes(WholeNumber bytes);            ///< "31.7 GiB"
[[nodiscard]] std::string format_bandwidth(double bytes_per_second);  ///< "12.3 GB/s"
[[nodiscard]] std::string format_percent(double share);               ///< 0.555 -> "55.5 %"
[[nodiscard]] std::string format_count(WholeNumber count);            ///< "75,718"
[[nodiscard]] std::string format_plural(WholeNumber count, const char* noun);  ///< "2 ranks"
/// Three significant digits or more: "9,012", "31.4", "0.0520", "0".
[[nodiscard]] std::string format_number(double value);
/// `value` with as many decimals as format_number(like) has.
[[nodiscard]] std::string format_number_like(double value, double like);
/// The command as a POSIX shell would read it back.
[[nodiscard]] std::string format_command(const std::vector<std::string>& words);

/// The whole of `text` as a finite number; not a number (NaN) where it is none.
[[nodiscard]] double number_in(const std::string& text);
/// A check for CLI11: "" or what is wrong, which it puts behind the option's name.
[[nodiscard]] std::string above_zero(const std::string& text);
/// "90", "90s", "10m", "1.5h", up to a year. The error is a phrase: "'…' is no duration. …".
[[nodiscard]] tl::expected<std::chrono::nanoseconds, std::string> parse_duration(
    const std::string& text);
/// "1500MB" (decimal), "1.5GiB", "2G" (binary, as ulimit and Slurm mean it), bytes without a unit.
[[nodiscard]] tl::expected<uint64_t, std::string> parse_size(const std::string& text);

}  // namespace redline
