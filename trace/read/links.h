// Finds what belongs together among the rows of a trace: the begin and end events that make one
// slice, and the slices that an arrow joins.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trace/model/issues.h"
#include "trace/read/event_rows.h"
#include "trace/read/lanes.h"
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
/// for a slice of no duration. Takes linear time, however many begins are open.
[[nodiscard]] EdgePairs pair_sorted_edges(std::span<const EdgeRow> edges);

struct PairedSlice {
  uint32_t track = 0;
  SliceRow row;
};

/// The slices of the edges of one track, or of one async id. A begin that stays open ends at
/// `last_ns` or with the last edge, whichever is later.
[[nodiscard]] std::vector<PairedSlice> pair_edges(std::span<EdgeRow> edges, int64_t last_ns,
                                                  IssueLog& issues);

/// Launches are linked by correlation number, which is there with or without flow events; flow
/// events link the rest, by the slices that lie at their times. Work is left without a launch where
/// two processes have launches of its number. Kineto writes an "f" on every
/// runtime call, launch or not, so an "f" without "s" is no error. Sorted by Flow::from. Takes the
/// flow ends out of `rows`; adds `base_ns` to their times.
[[nodiscard]] std::vector<Flow> link_flows(const PlacedTracks& placed,
                                           std::span<const std::unique_ptr<EventRows>> rows,
                                           int64_t base_ns, unsigned threads);

}  // namespace redline::trace
