// From text to RawEvents: simdjson for sound text, a tolerant scanner for the rest.
//
// The event array is cut into chunks that fit the cache; each is parsed as a JSON array of its own,
// so chunks could be parsed by several threads. A cut is a guess (its "},{" may sit inside a string
// or in an event's args): if the guess is wrong, or the text is, simdjson stops at some event, and
// the tolerant scanner goes on from there to the end of the chunk.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "trace/event.h"
#include "trace/issues.h"

namespace redline::trace {

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void add(const RawEvent& event) = 0;
};

/// Where a parser stopped. `array_ended`: behind the ']' of the event array.
struct ParseStop {
  size_t at = 0;
  bool array_ended = false;
  bool sound = true;  ///< false: behind the last event that could be read
};

/// simdjson's on-demand pass over one chunk.
class FastEventParser {
 public:
  FastEventParser();
  ~FastEventParser();

  /// Parses the events in text[from, to), where `to` is behind an event (or is the text's end).
  [[nodiscard]] ParseStop parse(std::string_view text, size_t from, size_t to, EventSink& sink);

 private:
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

/// Parses events from `from` until one ends at or behind `to`, the array ends or the text ends;
/// repairs what it can, skips what it must, and names both in `issues`.
[[nodiscard]] ParseStop parse_events_tolerantly(std::string_view text, size_t from, size_t to,
                                                EventSink& sink, IssueLog& issues);

/// The one event whose '{' is at text[at], read as tolerantly, and where it ends.
struct ScannedEvent {
  RawEvent event;
  size_t end = 0;
};
[[nodiscard]] ScannedEvent scan_event(std::string_view text, size_t at);

/// The end of a chunk: behind the '}' of the first "} , {" from `from` on, or text.size().
[[nodiscard]] size_t find_cut(std::string_view text, size_t from);

}  // namespace redline::trace
