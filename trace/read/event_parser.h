// From text to RawEvents: a fast scanner for sound text, a tolerant one for the rest.
//
// The event array is cut into chunks, parsed by several threads. A cut is a guess (its "},{" may
// sit inside a string or in an event's args): if the guess is wrong, or the text is, the fast
// scanner stops at some event, and the tolerant one goes on from there to the end of the chunk.
//
// simdjson was rejected: it indexes the whole text first, and half of a trace is args, which nobody
// reads on load. Stepping over them in one pass is faster (bench/trace_load.py).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "trace/model/issues.h"
#include "trace/read/event.h"
#include "trace/read/event_shapes.h"

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
  bool sound = true;  ///< false: `at` is behind the last event that could be read
};

/// Parses a chunk of sound text in one pass. The tolerant scanner would read everything that this
/// parser accepts in the same way.
class alignas(kApartBytes) FastEventParser {
 public:
  /// Parses the events in text[from, to), where `to` is behind an event (or is the text's end).
  [[nodiscard]] ParseStop parse(std::string_view text, size_t from, size_t to, EventSink& sink);

 private:
  EventShapes shapes_;
  std::vector<char> padded_;  // for the text's last chunk: blocks are read whole
};

/// What tolerant parsing of one text may cost and has cost, over all its chunks.
struct ScanWork {
  explicit ScanWork(size_t text_bytes) : vain_left(4 * uint64_t{text_bytes} + (1 << 20)) {}

  void spend(uint64_t bytes) { vain_left -= std::min(vain_left, bytes); }

  uint64_t vain_left;    ///< bytes that may still be looked at for events that turn out broken
  uint64_t visited = 0;  ///< bytes looked at, each time: at most a small multiple of the text
};

/// Parses events from `from` until one ends at or after `to`, the array ends or the text ends.
/// Repairs what it can, skips the rest, and records both in `issues`.
[[nodiscard]] ParseStop parse_events_tolerantly(std::string_view text, size_t from, size_t to,
                                                EventSink& sink, IssueLog& issues, ScanWork& work);

/// The one event whose '{' is at text[at], read as tolerantly, and where it ends.
struct ScannedEvent {
  RawEvent event;
  size_t end = 0;
};
[[nodiscard]] ScannedEvent scan_event(std::string_view text, size_t at);

/// The end of a chunk: behind the '}' of the first "} , {" from `from` on, or text.size().
[[nodiscard]] size_t find_cut(std::string_view text, size_t from);

/// Text whose events are parsed; `offset` is where it stands in the whole text. Behind `end`,
/// EventShape::kMaxFixedBytes and a block must be readable.
struct SoundText {
  const char* begin = nullptr;
  const char* end = nullptr;
  size_t offset = 0;
};

[[nodiscard]] ParseStop parse_sound_events_baseline(SoundText text, EventShapes& shapes,
                                                    EventSink& sink);
[[nodiscard]] ParseStop parse_sound_events_avx2(SoundText text, EventShapes& shapes,
                                                EventSink& sink);
[[nodiscard]] ParseStop parse_sound_events_avx512(SoundText text, EventShapes& shapes,
                                                  EventSink& sink);

struct SoundParser {
  std::string_view instructions;
  ParseStop (*parse)(SoundText text, EventShapes& shapes, EventSink& sink);
};

/// The parsers that this processor can run, the fastest first.
[[nodiscard]] std::span<const SoundParser> sound_parsers();

}  // namespace redline::trace
