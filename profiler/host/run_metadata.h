// What a trace says about the run it is of, in its key "run": command, environment, machine.
//
// Values of environment variables only for the names of shown_variables(): all others may be
// secrets, and are counted. In the command line, what follows a word such as "--api-key" is hidden.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redline::profiler {

/// docs/environment.md has the same list.
[[nodiscard]] std::span<const char* const> shown_variables();

/// `words` with secrets replaced by "***".
[[nodiscard]] std::vector<std::string> without_secrets(std::vector<std::string> words);

/// {"argv": […], "environment": {…}, "environment_not_shown": N, "machine": {…}}. `root` is where
/// proc and sys are. `environment` ends with nullptr, like environ.
[[nodiscard]] std::string run_metadata(const std::string& root, const char* const* environment);

/// The same of this process, as it was when first asked for.
[[nodiscard]] const std::string& run_metadata();

}  // namespace redline::profiler
