// The shapes of a trace's events: what stays the same in the text of event after event.
//
// A profiler writes each kind of event with one format string. So between the values that differ
// (name, times, ids, args) there stand the same bytes again and again, keys, "ph", "cat", commas
// and white space. An event that has the bytes of a known shape needs no parsing: comparing them a
// block at a time leaves only its values to be walked over (sound_events.h). Anything else is
// parsed in full, and may be the first of a shape.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"

namespace redline::trace {

/// A row of fixed texts with a value behind each but the last.
struct EventShape {
  static constexpr size_t kBlockBytes = 64;
  /// The most bytes of a fixed text; as many, and a block, must be readable behind an event.
  static constexpr size_t kMaxFixedBytes = 240;

  struct Piece {
    size_t fixed_begin;  ///< of the fixed text, in `fixed`
    size_t fixed_bytes;
    std::string_view RawEvent::*value;  ///< behind it; null for the last
  };

  std::vector<Piece> pieces;  ///< in the order of the text
  std::string fixed;          ///< all fixed texts, each padded to whole blocks
  std::string phase;
  std::string category;

  /// The shape of an event that was parsed in full; `text` is all of it. None where it has no use:
  /// one of its fixed texts is too long.
  [[nodiscard]] static std::optional<EventShape> of(const RawEvent& event, std::string_view text);
};

/// The shapes seen so far, with a guess which comes next: events come in patterns.
class EventShapes {
 public:
  [[nodiscard]] size_t size() const { return known_.size(); }
  [[nodiscard]] const EventShape& operator[](size_t index) const { return known_[index]->shape; }
  /// The shape that came last time after the one that came now; there is at least one.
  [[nodiscard]] size_t expected() const { return known_[last_]->next; }
  void came(size_t index) { known_[last_]->next = index, last_ = index; }

  /// Remembers the shape of an event that none fitted.
  void learn(const RawEvent& event, std::string_view text);

 private:
  static constexpr size_t kMaxShapes = 48;

  struct Known {
    EventShape shape;
    size_t next = 0;
  };

  std::vector<std::unique_ptr<Known>> known_;
  size_t last_ = 0;
  size_t replaced_ = 0;
};

}  // namespace redline::trace
