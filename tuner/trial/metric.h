// --metric REGEX: the objective as the command itself prints it on stdout. The last match counts.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

namespace redline::tuner {

/// The number in the first group of the last match of `pattern` (ECMAScript, searched line by
/// line), none where no line matches or the group is no number.
[[nodiscard]] std::optional<double> last_match(const std::string& text, const std::string& pattern);

/// Whether `pattern` is a regular expression with exactly one group; the error says what is wrong.
[[nodiscard]] tl::expected<void, std::string> check_metric(const std::string& pattern);

}  // namespace redline::tuner
