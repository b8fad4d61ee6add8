// The files that a trial wrote, as far as their ends are read back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace redline::tuner {

/// The last `bytes` of a file, empty where there is none.
[[nodiscard]] std::string tail_of(const std::string& path, size_t bytes);
/// The last `count` lines, without the line end after them.
[[nodiscard]] std::string last_lines(const std::string& text, size_t count);
/// The error files that torchelastic left somewhere below `folder`.
[[nodiscard]] std::vector<std::string> elastic_errors(const std::filesystem::path& folder);

}  // namespace redline::tuner
