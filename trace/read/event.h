// One event as its tokens stand in the text, before any of them means something.
//
// The fast parser and the tolerant one both produce this, so that the meaning of a token is decided
// in one place (event_collector.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/emit/json_scan.h"
#include "trace/model/model.h"

namespace redline::trace {

/// What the events of one shape (event_shapes.h) have in common, once their sink has found it out.
struct ShapeFacts {
  static constexpr uint32_t kUnknown = UINT32_MAX;

  bool are_known = false;  ///< true: all facts are known except the track
  uint8_t phase = 0;
  Category category = Category::kOther;
  FlowKind flow_kind = FlowKind::kOther;
  uint32_t track = kUnknown;  ///< valid as long as pid and tid stay the same
};

/// Tokens are views of the text (strings with their quotes), empty where the key is absent; they
/// live as long as the parser's buffer, not longer than the call that hands them over.
struct RawEvent {
  static constexpr int64_t kNotRead = INT64_MIN;

  uint64_t offset = 0;  ///< of the event's '{' in the whole text
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view pid;
  std::string_view tid;
  std::string_view time;
  std::string_view duration;
  std::string_view id;
  std::string_view args;           ///< the whole object
  bool needs_repair = false;       ///< strings may hold broken UTF-8
  int64_t time_ns = kNotRead;      ///< of `time`, where the parser has read it
  int64_t duration_ns = kNotRead;  ///< the same of `duration`
  ShapeFacts* shape = nullptr;     ///< null: the event was parsed in full
};

/// The token of an event for `key`, nullptr for keys that nobody reads.
[[nodiscard]] inline std::string_view* event_field(RawEvent& event, std::string_view key) {
  switch (key.size()) {
    case 2:
      if (key == "ph") return &event.phase;
      if (key == "ts") return &event.time;
      if (key == "id") return &event.id;
      break;
    case 3:
      if (key == "cat") return &event.category;
      if (key == "pid") return &event.pid;
      if (key == "tid") return &event.tid;
      if (key == "dur") return &event.duration;
      if (key == "id2") return &event.id;
      break;
    case 4:
      if (key == "name") return &event.name;
      if (key == "args") return &event.args;
      break;
    default:
      break;
  }
  return nullptr;
}

/// The row (as a tid) of a category's async events, e.g. "async net".
[[nodiscard]] inline std::string async_row(std::string_view category) {
  return "async " + std::string(category);
}

/// Equal for the events that belong together. An id means the same in all processes, unless it is
/// "id2": {"local": …}.
[[nodiscard]] inline std::string async_key(const RawEvent& event) {
  std::string key(unquote(event.category));
  key.append(1, '\0').append(unquote(event.id));
  if (!event.id.empty() && event.id.front() == '{' && !find_value(event.id, "local").empty()) {
    key.append(1, '\0').append(unquote(event.pid));
  }
  return key;
}

}  // namespace redline::trace
