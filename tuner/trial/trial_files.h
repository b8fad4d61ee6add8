// Reads what a trial's processes leave in files: the figure that --metric looks for, torchelastic's
// error files, and the Python stacks of a trial that hangs.
//
// Files, not pipes: a trial that dies, or whose reader is slow, loses nothing of what it wrote.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::tuner {

/// The error files that torchelastic left somewhere below `folder`.
[[nodiscard]] std::vector<std::string> elastic_errors(const std::filesystem::path& folder);

/// For --metric: the last number that the first group of `pattern` (ECMAScript) finds, searching
/// `output` line by line, without its colours. Commas may stand between its thousands ("1,350.0").
/// The error says that no line matches, or what of a line the group took that is no number, only a
/// part of one, or one in thousands ("1.95k"). It points out a match in `errors`, the stderr.
[[nodiscard]] tl::expected<double, std::string> last_match(const std::string& output,
                                                           const std::string& pattern,
                                                           const std::string& errors = "");
/// For --memory-metric: the same as bytes, by the unit within the group or behind it ("3.2 GiB").
[[nodiscard]] tl::expected<uint64_t, std::string> last_size(const std::string& text,
                                                            const std::string& pattern);

/// Where `processes` hang: one block for each process, its innermost Python frames first; empty if
/// none answers. Waits at most a second. `directory` is TrialPaths::stacks().
///
/// The start-up hook lets faulthandler answer a real-time signal by writing the stack of every
/// thread to a file; that works even while the main thread waits in a collective. A process that
/// does not handle the signal would die of it, so it is only sent to those that do.
[[nodiscard]] std::string hang_stacks(const std::vector<pid_t>& processes,
                                      const std::string& directory);

}  // namespace redline::tuner
