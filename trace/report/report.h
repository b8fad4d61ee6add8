// The report on all traces of one run, and its three forms: text, JSON and an HTML page.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "trace/advice/advice.h"
#include "trace/analysis/analysis.h"
#include "trace/analysis/hang.h"
#include "trace/analysis/rank_spread.h"
#include "trace/analysis/ranks.h"
#include "trace/run/verdict.h"

namespace redline::trace {

/// More ranks than this are told by their spread, because nobody reads so many rows.
constexpr size_t kManyRanks = 32;

struct Report {
  /// In the order of place_of_trace(). At least one, unless `run` has a value.
  std::vector<RankSummary> traces;
  /// One of each of `traces` if these stay loaded, else empty.
  std::vector<Analysis> analyses;
  std::optional<RunVerdict> run;        ///< of the whole job, if there are step logs
  std::optional<Hang> hang;             ///< what the ranks said last, if they hung
  std::vector<HangTable> hang_tables;   ///< of all ranks, if they hung, or of their dumps
  int64_t hang_seen_ns = 0;             ///< when they said so, unix time
  int64_t dumps = 0;                    ///< of torch's flight recorder, that were given
  std::string path;                     ///< of the step logs; the title if there are no traces
  std::vector<std::string> unreadable;  ///< files that are left out, each with the reason
  int64_t rank_count = 1;
  std::optional<RankComparison> comparison;  ///< of recordings_to_compare()
  std::vector<size_t> compared;  ///< the indices of the traces that it is of, in its order
  /// Whether some ranks read the same samples. The figures in `traces` count these once.
  bool shares_samples = false;
  std::optional<RankSpread> spread;  ///< the same, if there are more than kManyRanks
  std::vector<Finding> findings;     ///< of the run
  double load_seconds = 0;           ///< how long reading the files took; 0 if not measured
  /// Of the parts that compare ranks; RankSummary::times has the others.
  std::vector<AnalysisTime> times;
  bool is_cancelled = false;  ///< if so, other fields may be missing
};

/// Of traces that may be dropped. The order of the summaries does not matter.
[[nodiscard]] Report make_report(std::vector<RankSummary> summaries);

/// Of traces that stay loaded, in their order. Setting `cancel`, from any thread, makes it stop
/// soon.
[[nodiscard]] Report make_report(const std::vector<std::shared_ptr<const Trace>>& traces,
                                 const std::atomic<bool>* cancel = nullptr);

/// Puts the verdict on the ranks' tables in `paths` that are folders into the report.
void add_hang(Report& report, const std::vector<std::string>& paths,
              const std::vector<HangTable>& dumps = {});

/// The name of the file, or "traces/" for a folder of ranks or of step logs.
[[nodiscard]] std::string title_of(const Report& report);

/// How much of each table the text report shows.
struct TextScope {
  static constexpr size_t kAll = SIZE_MAX;
  size_t top = 5;
};

[[nodiscard]] std::string report_text(const Report& report, const TextStyle& style,
                                      const TextScope& scope = {});

/// Schema "redline.report/1". Times are integer nanoseconds, shares 0..1, null = not applicable.
[[nodiscard]] std::string report_json(const Report& report);

/// Gives a trace of the report (by its index in Report::traces) for pictures of its events; null if
/// it cannot be read any more.
using TraceOf = std::function<std::shared_ptr<const Trace>(size_t index)>;

/// Traces that stay loaded; null for others.
[[nodiscard]] TraceOf loaded_traces(const Report& report);

/// Ranks whose GPUs' states the page draws, at most.
constexpr size_t kMostRankLanes = 16;

/// One page without references to anything outside.
[[nodiscard]] std::string report_html(const Report& report, const TraceOf& trace_of);
[[nodiscard]] inline std::string report_html(const Report& report) {
  return report_html(report, loaded_traces(report));
}

}  // namespace redline::trace
