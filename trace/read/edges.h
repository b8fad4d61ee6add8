// Chrome's "B" and "E" events, and its async "b" and "e", which make a slice two by two.
#pragma once

#include <span>
#include <vector>

#include "trace/model/issues.h"
#include "trace/read/event_rows.h"
#include "trace/read/slice_rows.h"

namespace redline::trace {

/// Which edges belong together, by their index.
struct EdgePairs {
  struct Pair {
    uint32_t begin;
    uint32_t end;
  };
  std::vector<Pair> pairs;  ///< in the order of their ends
  std::vector<uint32_t> open_begins;
  std::vector<uint32_t> stray_ends;
};

/// `edges` are sorted by time. An end closes the innermost open begin of its name (or the innermost
/// one, if either has no name); an end just before the begin of its name at the same time is taken
/// for a slice of no duration. Linear, whatever is open.
[[nodiscard]] EdgePairs pair_sorted_edges(std::span<const EdgeRow> edges);

struct PairedSlice {
  uint32_t track = 0;
  SliceRow row;
};

/// The slices of the edges of one track, or of one async id. A begin that stays open ends at
/// `last_ns` or with the last edge, whichever is later.
[[nodiscard]] std::vector<PairedSlice> pair_edges(std::span<EdgeRow> edges, int64_t last_ns,
                                                  IssueLog& issues);

}  // namespace redline::trace
