// A knob: one setting of the training job that the search may change, and the values it may take.
//
// The search knows two kinds. A range of integers has neighbours and a middle; a list of choices
// may have none. A list whose values are all integers counts as both: it is searched in order of
// size, and no value outside it is tried.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/integer.h"

namespace redline::tuner {

/// A range of integers (`values` empty) or a list of choices in the order given.
struct Knob {
  std::string name;
  std::vector<std::string> values;  ///< choices; empty for a range
  int64_t low = 0;                  ///< lowest value of a range or of integer choices
  int64_t high = 0;                 ///< inclusive

  [[nodiscard]] bool is_range() const { return values.empty(); }
  /// A range, or choices that are all integers: neighbours of a value have a meaning.
  [[nodiscard]] bool is_numeric() const;
  [[nodiscard]] bool contains(const std::string& value) const;
  /// The allowed integer nearest to `value`; the knob must be numeric, which is asserted. A batch
  /// size of 16 or more is rounded down to a multiple of 8 where the range allows it: matrix units
  /// are faster then, above all with AMP.
  [[nodiscard]] int64_t nearest(double value) const;
  /// nearest() among the allowed integers that are not above `value`; `low` if all are above it.
  [[nodiscard]] int64_t at_most(double value) const;
  /// Where a number lies on the scale on which models see it, of powers of two.
  [[nodiscard]] double by_size(double value) const;
  /// As users write it: "1..4096" or "off,bf16".
  [[nodiscard]] std::string text() const;
};

/// Reads NAME=LOW..HIGH or NAME=A,B,C. The error is a whole sentence: what, why, and an example.
[[nodiscard]] tl::expected<Knob, std::string> parse_knob(const std::string& text);
/// Whether the start-up hook understands the values of a knob that it is to set; the error is as
/// that of parse_knob(). In the place of {NAME} any value goes: the script reads it.
[[nodiscard]] tl::expected<void, std::string> check_for_hook(const Knob& knob);
/// parse_integer() where the integer is written as `text` again, which "010" is not: such a text
/// must stay one, because it stands for itself in the command.
[[nodiscard]] std::optional<int64_t> plain_number(const std::string& text);

}  // namespace redline::tuner
