// The recorder's own words in a trace: the counts under its top-level key.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/emit/writer.h"

namespace redline::profiler {

/// The trace's top-level key with the recorder's own counts; others may add members to it.
inline constexpr const char* kOwnEntry = "redline";

struct TraceSummary {
  uint64_t events = 0;
  uint64_t dropped = 0;        ///< events that found no memory, or no room on the disk
  uint64_t dropped_names = 0;  ///< names and args that were not kept
  uint64_t threads = 0;
  uint64_t unfinished = 0;  ///< events of slices that had not ended
};

/// `entries` with all that stands under kOwnEntry, and `summary`, in one.
[[nodiscard]] std::vector<trace::Entry> closing_entries(const TraceSummary& summary,
                                                        const std::vector<trace::Entry>& entries);

}  // namespace redline::profiler
