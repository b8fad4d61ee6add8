// What the reader collects from one chunk of the text, except its slices (slice_rows.h).
//
// String and track ids are those of the EventCollector that read the chunk; TraceBuilder maps them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "trace/model/issues.h"
#include "trace/model/model.h"

namespace redline::trace {

/// A "B" or "E" event, or an async one: "b" or "e".
struct EdgeRow {
  int64_t time_ns = 0;
  uint64_t text_offset = 0;
  StringId name;
  uint32_t track = 0;
  Category category = Category::kOther;
  bool is_begin = false;
  StringId async_id;  ///< of "b" and "e": what belongs together, from category and id
};

/// An "s" or "f" event.
struct FlowEnd {
  uint64_t id = 0;
  int64_t time_ns = 0;
  uint32_t track = 0;
  FlowKind kind = FlowKind::kOther;
  bool is_start = false;
};

struct InstantRow {
  int64_t time_ns = 0;
  uint64_t text_offset = 0;
  StringId name;
  uint32_t track = 0;
};

/// One value of a "C" event.
struct CounterRow {
  int64_t time_ns = 0;
  double value = 0;
  StringId pid;
  StringId name;
};

/// A metadata event: what a process or a thread is called and where it is shown.
struct NameRow {
  enum class What { kName, kLabel, kSortIndex };
  What what = What::kName;
  StringId pid;
  StringId tid;  ///< none for a process
  StringId text;
  std::optional<int64_t> sort_index;
};

struct EventRows {
  uint32_t chunk = 0;  ///< the number that the collector's slices of this chunk carry
  uint32_t collector = 0;
  std::vector<EdgeRow> edges;
  std::vector<FlowEnd> flow_ends;
  std::vector<InstantRow> instants;
  std::vector<CounterRow> counters;
  std::vector<NameRow> names;
  IssueLog issues;
  /// [0] counts events whose phase is not one ASCII character
  std::array<uint64_t, 128> events_by_phase{};
};

}  // namespace redline::trace
