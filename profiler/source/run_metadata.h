// Describes the recorded run in the trace: command, environment and machine in the key "run", and
// the clocks, so that traces of several machines and tools can be compared.
//
// A trace is shown to others, and an environment holds secrets. So the trace has only the values of
// machine::kShownEnvironment; of all other variables it has the count. These values and the command
// line are written without_secrets().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace redline::profiler {

/// The words of this process's command, with its secrets.
[[nodiscard]] std::vector<std::string> command_line(const std::string& root);

/// {"argv": […], "environment": {…}, "environment_not_shown": N, "machine": {…}, "malloc": the file
/// of the library whose malloc the process uses, such as "libc.so.6"}. `root` is where
/// proc and sys are. `environment` ends with nullptr, like environ.
[[nodiscard]] std::string run_metadata(const std::string& root, const char* const* environment);

/// The same for this process. The text is made at the first call.
[[nodiscard]] const std::string& run_metadata();

/// Two clocks, read at the same moment.
struct ClockPair {
  int64_t realtime_ns = 0;   ///< unix time
  int64_t monotonic_ns = 0;  ///< CLOCK_MONOTONIC, which all processes of a machine share

  [[nodiscard]] int64_t offset_ns() const { return realtime_ns - monotonic_ns; }
};

[[nodiscard]] ClockPair read_clocks();

/// {"clocks": [{"realtime_ns": …, "monotonic_ns": …}, …]} for the begin and the end of a window.
[[nodiscard]] std::string clock_members(const ClockPair& begin, const ClockPair& end);

}  // namespace redline::profiler
