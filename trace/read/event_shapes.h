// The shapes of a trace's events: what stays the same in the text of event after event.
//
// A profiler writes each kind of event with one format string. So between the values that differ
// (name, times, ids, args) there stand the same bytes again and again, keys, "ph", "cat", commas
// and white space. An event that has the bytes of a known shape needs no parsing: comparing them a
// block at a time leaves only its values to be walked over (event_parser.h). Anything else is
// parsed in full, and may be the first of a shape.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/read/event.h"

namespace redline::trace {

/// A row of fixed texts with a value behind each but the last.
struct EventShape {
  static constexpr size_t kBlockBytes = 64;
  /// The most bytes of a fixed text; as many, and a block, must be readable behind an event.
  static constexpr size_t kMaxFixedBytes = 240;

  struct Piece {
    size_t fixed_begin;  ///< of the fixed text, in `fixed`
    size_t fixed_bytes;
    std::string_view RawEvent::*value;         ///< behind it; null for the last
    int64_t RawEvent::*nanoseconds = nullptr;  ///< of a value that is a time
  };

  /// Most events are of the same thread as the last one of their shape: pid and tid with the fixed
  /// texts before, between and behind them, which are compared at once.
  struct Owner {
    std::string text;  ///< padded to whole blocks
    size_t bytes = 0;  ///< 0: not known
    size_t pid_at = 0, pid_bytes = 0;
    size_t tid_at = 0, tid_bytes = 0;
  };

  std::vector<Piece> pieces;  ///< in the order of the text
  std::string fixed;          ///< all fixed texts, each padded to whole blocks
  std::string phase;
  std::string category;
  const Piece* owner_piece = nullptr;  ///< pid's, where tid's comes next; else null
  Owner owner;
  ShapeFacts facts;

  /// From now on the owner is that of `event`, as `text` has it.
  void remember_owner(const RawEvent& event, std::string_view text);

  /// The shape of an event that was parsed in full; `text` is all of it. Null if one of its fixed
  /// texts is too long, so that the shape is of no use.
  [[nodiscard]] static std::unique_ptr<EventShape> of(const RawEvent& event, std::string_view text);
};

/// The shapes seen so far, with a guess which comes next: events come in patterns.
class EventShapes {
 public:
  [[nodiscard]] size_t size() const { return known_.size(); }
  [[nodiscard]] EventShape& operator[](size_t index) { return *known_[index]; }
  /// The shape that came last time after the one that came now; there is at least one.
  [[nodiscard]] size_t expected() const { return next_[last_]; }
  void came(size_t index) { next_[last_] = index, last_ = index; }

  /// Remembers the shape of an event that fitted no known shape.
  void learn(const RawEvent& event, std::string_view text);

 private:
  static constexpr size_t kMaxShapes = 48;

  std::vector<std::unique_ptr<EventShape>> known_;
  std::vector<size_t> next_;  ///< by shape: what came after it last time
  size_t last_ = 0;
  size_t replaced_ = 0;
};

}  // namespace redline::trace
