// What the reader gathers a track before slices have lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model.h"

namespace redline::trace {

/// A slice without a lane.
struct SliceRow {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint64_t text_offset = 0;
  StringId name;
  uint32_t correlation = 0;
  Category category = Category::kOther;
};

/// A "B" or "E" event.
struct EdgeRow {
  int64_t time_ns = 0;
  uint64_t text_offset = 0;
  StringId name;
  Category category = Category::kOther;
  bool is_begin = false;
};

/// An "s" or "f" event. `track` is an index into the gathered tracks.
struct FlowEnd {
  uint64_t id = 0;
  int64_t time_ns = 0;
  uint32_t track = 0;
  FlowKind kind = FlowKind::kOther;
  bool is_start = false;
};

struct TrackRows {
  Track track;  ///< ids and names; lanes come later
  int64_t process_sort_index = 0;
  std::vector<SliceRow> slices;
  std::vector<EdgeRow> edges;
};

}  // namespace redline::trace
