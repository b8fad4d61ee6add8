// The end of what a command wrote into a file, for messages about commands that failed.
#pragma once

#include <cstddef>
#include <string>

namespace redline::launch {

/// The last `bytes` of a file; empty if there is no such file.
[[nodiscard]] std::string tail_of(const std::string& path, size_t bytes);

/// The last `count` lines, without the line ends after them.
[[nodiscard]] std::string last_lines(const std::string& text, size_t count);

}  // namespace redline::launch
