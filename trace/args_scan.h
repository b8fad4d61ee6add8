// A few values out of an event's args in one pass over its text, for analyses that ask every event
// of a kind. (Args looks each key up on its own: right for a single event.)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace redline::trace {

/// `text` starts with the '{' of an event and may go on behind it. Sets values[i] to the JSON value
/// of keys[i] in the event's "args" as it stands (strings with their quotes), empty where absent;
/// of equal keys the first counts. Stops as soon as all are found, or where the text is torn.
void find_args(std::string_view text, std::span<const std::string_view> keys,
               std::span<std::string_view> values);

/// The number in a JSON value or in a string of one.
[[nodiscard]] std::optional<int64_t> to_integer(std::string_view value);
[[nodiscard]] std::optional<double> to_number(std::string_view value);

}  // namespace redline::trace
