// Reads traces and summaries of traces, and keeps a summary of each rank: a few traces at a time,
// one for each core, are in memory.
#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trace/analysis/device_peaks.h"
#include "trace/analysis/rank_summary.h"
#include "trace/read/reader.h"

namespace redline::trace {

struct SummarizeOptions {
  const std::atomic<bool>* cancel = nullptr;
  GivenPeaks peaks;
  /// Called with each trace before it is dropped, by several threads at a time.
  std::function<void(const std::shared_ptr<const Trace>&)> visit;
  size_t kept_traces = 0;  ///< so many traces stay loaded, those of the lowest ranks
  std::map<std::string, std::shared_ptr<const Trace>> known = {};  ///< by path: need not be read
  /// Of the files that `paths` stand for, those whose number leaves `part` when divided by `parts`.
  size_t part = 0;
  size_t parts = 1;
};

struct Summaries {
  std::vector<RankSummary> ranks;  ///< in no order
  std::vector<ReadError> unreadable;
  std::vector<std::string> left_out;  ///< paths of what keep_latest() took for superseded
  std::map<std::string, std::shared_ptr<const Trace>> kept;  ///< by path
  double read_seconds = 0;                                   ///< sums over all traces
  double analyze_seconds = 0;
};

/// Summarizes each file that `paths` stand for once. A path is a trace, a file of summaries, or a
/// folder of either. What cannot be read is in `unreadable`; fails only where a path stands for no
/// file.
[[nodiscard]] tl::expected<Summaries, ReadError> summarize(const std::vector<std::string>& paths,
                                                           const SummarizeOptions& options);

/// How many traces `paths` stand for.
[[nodiscard]] size_t count_traces(const std::vector<std::string>& paths);

/// Adds the summaries in `lines`, the content of a file of them called `name`. What is no summary
/// counts as unreadable.
void add_summaries(std::istream& lines, const std::string& name, Summaries& summaries);

/// Drops what stands twice, under whatever paths, and the traces of earlier recordings in folders
/// (recordings.h).
void keep_latest(Summaries& summaries);

}  // namespace redline::trace
