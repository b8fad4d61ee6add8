// The event array of a trace, parsed by several threads at once.
#pragma once

#include <cstddef>
#include <string_view>

#include "trace/read/builder.h"
#include "trace/read/reader.h"

namespace redline::trace {

/// Where reading an event array stopped: behind its ']' or at the end of the text.
struct EventArrayEnd {
  size_t at = 0;
  bool cancelled = false;
};

/// Parses the events from `at` (behind the array's '[') on and appends their rows to `events`.
///
/// The text is cut into chunks that threads parse at the same time. Where a cut was wrong (it lay
/// inside a string or in an event's args) the chunk before it does not end there: then what was
/// read behind the cut is dropped and read again from the true place.
[[nodiscard]] EventArrayEnd read_event_array(const Text& text, size_t at,
                                             const ReadOptions& options, CollectedEvents& events);

}  // namespace redline::trace
