// A few values out of an event's args in one pass over its text, for analyses that ask every event
// of a kind. (Args looks each key up on its own: right for a single event.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace redline::trace {

/// `text` starts with the '{' of an event and may go on behind it. Sets values[i] to the JSON value
/// of keys[i] in the event's "args" as it stands (strings with their quotes), empty where absent;
/// of equal keys the first counts. Stops as soon as all are found, or where the text is torn.
void find_args(std::string_view text, std::span<const std::string_view> keys,
               std::span<std::string_view> values);

/// find_args for one event after the other. Those of one name begin with the same text, up to their
/// times: what begins as the last one did is not taken to pieces again.
class ArgsScanner {
 public:
  /// `kind` tells which events are alike, such as the id of their name; it may be wrong.
  void find(std::string_view text, size_t kind, std::span<const std::string_view> keys,
            std::span<std::string_view> values);

 private:
  std::array<std::string, 128> starts_;  // by kind; those that share a place take turns
};

/// The number in a JSON value or in a string of one.
[[nodiscard]] std::optional<int64_t> to_integer(std::string_view value);
[[nodiscard]] std::optional<double> to_number(std::string_view value);

}  // namespace redline::trace
