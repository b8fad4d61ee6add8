// Values out of an event's args, which stay JSON text until somebody asks for them.
//
// Args looks one key up at a time: right for a single event. An analysis that asks every event of a
// kind takes the values of all its keys in one pass, with find_args or ArgsScanner.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trace/read/text_cursor.h"

namespace redline::trace {

class Args {
 public:
  Args(const Trace& trace, SliceId slice) : Args(event_text(trace, slice)) {}
  explicit Args(std::string_view event_text);

  [[nodiscard]] std::optional<int64_t> integer(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key) const;      ///< empty where absent
  [[nodiscard]] std::string_view raw(std::string_view key) const;  ///< the JSON value as it stands

 private:
  std::string_view object_;
};

/// `text` starts with the '{' of an event and may go on behind it. Sets values[i] to the JSON value
/// of keys[i] in the event's "args" as it stands (strings with their quotes), empty where absent;
/// of equal keys the first counts. Stops as soon as all are found, or where the text is torn.
void find_args(std::string_view text, std::span<const std::string_view> keys,
               std::span<std::string_view> values);

/// find_args() for one event after the other. Events of one name begin with the same text, up to
/// their times; text that begins as the last one did is not parsed again.
class ArgsScanner {
 public:
  /// `kind` tells which events are alike, such as the id of their name; it may be wrong.
  void find(std::string_view text, size_t kind, std::span<const std::string_view> keys,
            std::span<std::string_view> values);

 private:
  std::array<std::string, 128> starts_;  // by kind; kinds that share a place replace each other
};

/// The number in a JSON value or in a string of one.
[[nodiscard]] std::optional<int64_t> to_integer(std::string_view value);
[[nodiscard]] std::optional<double> to_number(std::string_view value);

}  // namespace redline::trace
