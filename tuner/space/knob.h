// A knob: one setting of the training job that the search may turn, and the values it may take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace redline::tuner {

/// Either a range of integers (`values` empty) or a list of choices in the order given.
struct Knob {
  std::string name;
  std::vector<std::string> values;  ///< choices; empty for a range
  int64_t low = 0;                  ///< of a range, or the least of integer choices
  int64_t high = 0;                 ///< inclusive

  [[nodiscard]] bool is_range() const { return values.empty(); }
  /// A range, or choices that are all integers: neighbours of a value have a meaning.
  [[nodiscard]] bool is_numeric() const;
  [[nodiscard]] bool contains(const std::string& value) const;
  /// The allowed integer nearest to `value`. Only for numeric knobs. A batch size of 16 or more is
  /// rounded to a multiple of 8 where the range allows it: matrix units want that, above all under
  /// AMP.
  [[nodiscard]] int64_t nearest(double value) const;
  /// nearest(), but not above `value` where any allowed integer is not.
  [[nodiscard]] int64_t at_most(double value) const;
  /// As users write it: "1..4096" or "off,bf16".
  [[nodiscard]] std::string text() const;
};

/// Reads NAME=LOW..HIGH or NAME=A,B,C. Knobs that the start-up hook sets are checked for values it
/// understands. The error is a whole sentence: what, why, and an example.
[[nodiscard]] tl::expected<Knob, std::string> parse_knob(const std::string& text);

/// A whole decimal integer, or nothing.
[[nodiscard]] std::optional<int64_t> parse_integer(std::string_view text);

}  // namespace redline::tuner
