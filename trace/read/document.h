// The outer form of a trace file, {"key": …, "traceEvents": [ … ], "key": …} or just [ … ], whole
// or torn; its event array, which several threads parse; and what its other values say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model/model.h"
#include "trace/read/builder.h"
#include "trace/read/reader.h"
#include "trace/read/text.h"

namespace redline::trace {

/// A top-level value other than the events, as it stands in the text.
struct TopLevelValue {
  std::string key;
  std::string_view json;
};

struct Document {
  std::vector<TopLevelValue> values;
  bool has_events = false;  ///< there was an event array, maybe an empty one
  bool is_array = false;    ///< the bare array, without an object around it
  bool cancelled = false;
};

/// Adds every event of `text` to `events` and collects the rest. Begins before the text is whole.
[[nodiscard]] Document read_document(const Text& text, CollectedEvents& events, IssueLog& issues,
                                     const ReadOptions& options);

/// Where reading an event array stopped: behind its ']' or at the end of the text.
struct EventArrayEnd {
  size_t at = 0;
  bool cancelled = false;
};

/// Longer is no event of a compressed text, and no value beside the events: files that are made to
/// fill a machine's memory inflate to gigabytes of either.
constexpr size_t kMostValueBytes = 64 << 20;

/// Parses the events from `at` (behind the array's '[') on and appends their rows to `events`.
///
/// The text is cut into chunks that threads parse at the same time. Where a cut was wrong (it lay
/// inside a string or in an event's args) the chunk before it does not end there: then what was
/// read behind the cut is dropped and read again from the true place.
/// A compressed text that goes on for too long without the end of an event is ended there.
[[nodiscard]] EventArrayEnd read_event_array(const Text& text, size_t at,
                                             const ReadOptions& options, CollectedEvents& events,
                                             IssueLog& issues);

/// Nanoseconds to add to each time stamp ("baseTimeNanoseconds"), 0 where absent, and INT64_MAX,
/// which is out of range, where it is no number that fits.
[[nodiscard]] int64_t base_time_ns(std::span<const TopLevelValue> values);

/// Reads rank, world size, backend and host, and keeps the rest as JSON text. A value that is no
/// JSON is left out and counted.
[[nodiscard]] Metadata read_metadata(std::span<const TopLevelValue> values, IssueLog& issues);

}  // namespace redline::trace
