// The pass over a chunk of sound text, once for each instruction set of this processor's family.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "trace/read/event_parser.h"
#include "trace/read/event_shapes.h"

namespace redline::trace {

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
