// The folder of the cache: where it is, how its files get there whole, and what goes first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redline::trace {

/// $XDG_CACHE_HOME/redline or ~/.cache/redline; "" where REDLINE_CACHE=off or neither is known.
[[nodiscard]] std::string default_cache_folder();

/// Makes room for a file of `bytes` in the folder, oldest use first, so that all together take at
/// most `largest_total` and a tenth of the free disk. False where it does not fit at all.
[[nodiscard]] bool make_cache_room(const std::string& folder, uint64_t bytes,
                                   uint64_t largest_total);

/// Writes a file under a name of its own, then gives it `path`: readers see all of it or none.
[[nodiscard]] bool write_cache_file(const std::string& path,
                                    const std::vector<std::string_view>& parts);

}  // namespace redline::trace
