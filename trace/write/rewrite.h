// Writes a loaded trace to a file again.
//
// Text is written anew from the model, not copied from the file, because the file may be torn, of
// an old dialect or not even JSON, and what we write is always valid JSON that reads equal: the
// same times, names, tracks, lanes, links, counters and args. Args stay as they stand in the file
// where they are sound. Begin/end pairs become complete events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "trace/emit/writer.h"
#include "trace/model/model.h"

namespace redline::trace {

/// How to keep several traces apart in one file, and on one clock.
struct RewriteOptions {
  int64_t shift_ns = 0;            ///< added to every time
  double drift = 0;                ///< further ns per ns from `drift_at_ns` on
  int64_t drift_at_ns = 0;         ///< on the trace's own clock
  uint32_t correlation_shift = 0;  ///< added to every correlation number but 0, modulo 2^32
  /// New pids, by old ones; others stay.
  std::map<std::string, std::string, std::less<>> pids = {};
  std::string process_prefix = {};  ///< before the name of a process, and alone if it has none
  /// Called now and then with the number of rows written since the last call; false stops the
  /// writing.
  std::function<bool(uint64_t rows)> go_on = {};
};

/// Streams traces into one writer, in constant memory. Rows stay in their order, trace by trace.
class TraceRewriter {
 public:
  explicit TraceRewriter(TraceWriter& writer) : writer_(writer) {}

  /// False if `go_on` stopped it.
  bool add(const Trace& trace, const RewriteOptions& options = {});

 private:
  TraceWriter& writer_;
  uint64_t last_flow_id_ = 0;
  uint64_t process_count_ = 0;
};

/// The pids of all rows and events that have one.
[[nodiscard]] std::set<std::string> pids_of(const Trace& trace);

/// The header of a file that holds `trace`: its base, and its top-level values as entries, without
/// those that every file gets anew.
[[nodiscard]] TraceHeader header_of(const Trace& trace);

/// A base below every time of `trace` (shifted by `shift_ns`), as Kineto would choose it.
[[nodiscard]] int64_t base_of(const Trace& trace, int64_t shift_ns = 0);

/// Where a TraceWriter spools for a file that will be saved as `path`: beside it, compressed, and
/// never NAME.partial, which is what a killed process leaves of its trace and may be our input.
[[nodiscard]] std::string spool_path(const std::string& path);

}  // namespace redline::trace
