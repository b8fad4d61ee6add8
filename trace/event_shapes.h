// The shapes of a trace's events: what stays the same in the text of event after event.
//
// A profiler writes each kind of event with one format string. So between the values that differ
// (name, times, ids, args) there stand the same bytes again and again, keys, "ph", "cat", commas
// and white space. An event that has the bytes of a known shape needs no parsing: comparing them 16
// at a time leaves only its values to be walked over. Anything else is parsed in full, and may be
// the first of a shape.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"

namespace redline::trace {

class SoundEventScanner;

/// A shape is a row of fixed texts with a value behind each but the last.
class EventShape {
 public:
  /// The most bytes of a fixed text; more must be readable behind each chunk than that.
  static constexpr size_t kMaxFixedBytes = 240;

  /// The shape of an event that was parsed in full; `text` is all of it. Null where it has no use:
  /// one of its fixed texts is too long.
  [[nodiscard]] static std::unique_ptr<EventShape> of(const RawEvent& event, std::string_view text);

  /// Whether the event at the scanner has this shape; then `event` has its values and the scanner
  /// stands behind it. Else the scanner has not moved.
  bool match(SoundEventScanner& scanner, RawEvent& event) const;

 private:
  struct Value {
    std::string_view RawEvent::*field;
    size_t fixed_begin;  ///< of the text before it, in fixed_
    size_t fixed_bytes;
  };

  std::vector<Value> values_;  ///< in the order of the text; the last one has no field
  std::string fixed_;          ///< all fixed texts, each padded to whole blocks
  std::string phase_;
  std::string category_;
};

/// The shapes seen so far, those that were met last first in line.
class EventShapes {
 public:
  /// Like EventShape::match with the shape that fits, if one does.
  bool match(SoundEventScanner& scanner, RawEvent& event);

  /// Remembers the shape of an event that none fitted.
  void learn(const RawEvent& event, std::string_view text);

 private:
  static constexpr size_t kMaxShapes = 48;

  struct Known {
    std::unique_ptr<EventShape> shape;
    size_t next = 0;  ///< the shape that came after it last time
  };

  std::vector<Known> known_;
  size_t last_ = 0;
  size_t replaced_ = 0;
};

}  // namespace redline::trace
