// The outer form of a trace file: {"key": …, "traceEvents": [ … ], "key": …} or just [ … ], whole
// or torn.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/model/text.h"
#include "trace/read/builder.h"
#include "trace/read/reader.h"

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

}  // namespace redline::trace
