// Writes quantities for people ("7 min 12 s", "3.1 GiB", "1,204") and reads what they type ("10m",
// "2GiB"). Sizes are binary (KiB, MiB, …); rates are decimal (MB/s), as vendors give them.
//
// It uses std::to_chars and std::from_chars. They do not depend on the locale, so a report reads
// the same everywhere, and libraries in training processes need no fmt.
#pragma once

#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace redline {

/// A count or a size of any integer type. A value that does not fit into int64_t becomes the limit.
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
/// Of a mean, which may fall between two nanoseconds.
template <std::floating_point Real>
[[nodiscard]] std::string format_ns(Real ns) {
  return format_ns(int64_t{std::llround(ns)});
}
/// "-" for no time at all, as in a table.
template <typename Ns>
[[nodiscard]] std::string format_ns_or_dash(Ns ns) {
  return ns > 0 ? format_ns(ns) : "-";
}
/// For times that a person waits: "8.2 s", "7 min 12 s", "3 h 5 min".
[[nodiscard]] std::string format_wait(std::chrono::nanoseconds duration);
[[nodiscard]] std::string format_bytes(WholeNumber bytes);            ///< "31.7 GiB"
[[nodiscard]] std::string format_bandwidth(double bytes_per_second);  ///< "12.3 GB/s"
[[nodiscard]] std::string format_percent(double share);               ///< 0.555 -> "55.5 %"
/// part / whole; 0 if `whole` is 0.
[[nodiscard]] constexpr double share_of(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
[[nodiscard]] std::string format_count(WholeNumber count);                     ///< "75,718"
[[nodiscard]] std::string format_plural(WholeNumber count, const char* noun);  ///< "2 ranks"
/// "rank 3", "ranks 0, 3", "ranks 0, 1, 2, 3 and 4 more"; empty for none.
[[nodiscard]] std::string format_ranks(const std::vector<int>& ranks, size_t most = 4);
[[nodiscard]] std::string capitalized(std::string text);  ///< "rank 3" -> "Rank 3"
/// Three significant digits or more: "9,012", "31.4", "0.0520", "0".
[[nodiscard]] std::string format_number(double value);
/// `value` with as many decimals as format_number(like) has.
[[nodiscard]] std::string format_number_like(double value, double like);
/// The command as a POSIX shell would read it back.
[[nodiscard]] std::string format_command(const std::vector<std::string>& words);

/// The number that `text` is; NaN if the whole text is not one finite number.
[[nodiscard]] double number_in(const std::string& text);
/// A check for CLI11: gives "", or what is wrong, which CLI11 writes behind the option's name.
[[nodiscard]] std::string above_zero(const std::string& text);
/// Reads "90", "90s", "10m" or "1.5h", up to a year. The error is "'…' is no duration. …".
[[nodiscard]] tl::expected<std::chrono::nanoseconds, std::string> parse_duration(
    const std::string& text);
/// Reads "1500MB" (decimal), "1.5GiB" or "1.5Gi", and "2G" (binary, as in ulimit and Slurm).
/// Without a unit the number counts bytes.
[[nodiscard]] tl::expected<uint64_t, std::string> parse_size(const std::string& text);
/// Reads "5%" or "0.5 %" as 0.05 or 0.005.
[[nodiscard]] tl::expected<double, std::string> parse_percent(const std::string& text);

}  // namespace redline
