// Durations, sizes and counts as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace redline {

[[nodiscard]] std::string format_ns(int64_t ns);                      ///< "177.6 ms", "12.0 us"
[[nodiscard]] std::string format_bytes(int64_t bytes);                ///< "31.7 GiB"
[[nodiscard]] std::string format_bandwidth(double bytes_per_second);  ///< "12.3 GB/s"
[[nodiscard]] std::string format_percent(double share);               ///< 0.555 -> "55.5 %"
[[nodiscard]] std::string format_count(int64_t count);                ///< "75,718"
[[nodiscard]] std::string format_plural(int64_t count, const char* noun);  ///< "2 ranks"

}  // namespace redline
