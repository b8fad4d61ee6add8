// The report on all traces of one run, and its three forms: text, JSON and an HTML page.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
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
  std::optional<RankComparison> comparison;  ///< of the last trace of each rank
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

/// The average step of a run: the mean over ranks (rank_weights) of each rank's mean step.
struct MeanStep {
  int64_t mean_ns = 0;
  int64_t deviation_ns = 0;  ///< of all steps: within recordings and between them
  std::array<int64_t, kBreakdownPartCount> part_ns{};
};

[[nodiscard]] MeanStep mean_step(const Report& report);

/// How many GPUs the ranks compute on. Each rank's count as other ones, unless the traces of ranks
/// that use one each tell them apart; a rank without GPU work counts as one.
[[nodiscard]] int64_t count_gpus(const Report& report);

/// How well the GPUs are used: a mean over those that compute.
struct GpuGauge {
  const char* name;             ///< "GPU busy"
  std::optional<double> share;  ///< nullopt: not known
};
/// Empty without a GPU.
[[nodiscard]] std::vector<GpuGauge> gpu_gauges(const Report& report);

/// The index of the trace that the first finding is about; without findings, of the first trace.
[[nodiscard]] size_t advised_trace(const Report& report);

/// What a report without findings says in their place.
[[nodiscard]] std::string_view without_findings(const Report& report);

/// " of rank 3" if there are several traces, else empty.
[[nodiscard]] std::string of_rank(const Report& report, const RankSummary& summary);

/// "2 ranks · 6 steps · 1,234 events"; "no marked steps" where there are none.
[[nodiscard]] std::string counts_text(const Report& report);
/// Of the rank that has most, in all its recordings.
[[nodiscard]] int64_t recorded_steps(const Report& report);

/// Why flight recorders wrote the traces, a line for each rank: "rank 1: step 40 has not ended …".
[[nodiscard]] std::vector<std::string> reason_lines(const Report& report);

/// Where flight recorders' dumps name nobody who holds the others up: so much, and who is behind.
[[nodiscard]] std::vector<std::string> nobody_named_lines(const Report& report);

/// The first trace with work of a GPU; nullptr if none has any.
[[nodiscard]] const RankSummary* first_with_gpus(const std::vector<RankSummary>& traces);

/// The names of all GPUs that did some work, as far as they are known.
[[nodiscard]] std::set<std::string> gpu_names(const Report& report);

/// The first trace that count_in_means, the first of all if none does.
[[nodiscard]] const RankSummary& first_in_means(const Report& report);

/// Samples or tokens of a step over all ranks: each rank that knows says its own times the number
/// of ranks, so the mean of what they say. nullopt if none knows.
[[nodiscard]] std::optional<double> mean_count(const Report& report,
                                               std::optional<double> TraceFacts::*count);

/// Ranks whose traces are of several processes that do not say that they are of one recording.
[[nodiscard]] std::vector<int> ranks_of_several_processes(const Report& report);

/// What a reader must know of the traces before any figure, a sentence each.
[[nodiscard]] std::vector<std::string> trace_notes(const Report& report);

/// How the own work of many ranks is spread, and who is slow; empty for few ranks.
[[nodiscard]] std::vector<std::string> spread_lines(const Report& report);

/// One line for samples (and tokens) a second and one for the latency of inference, each only if it
/// is known.
[[nodiscard]] std::vector<std::string> rate_lines(const Report& report);

/// Means over the traces in which phases can be told apart.
[[nodiscard]] std::optional<PhaseTimes> mean_phases(const Report& report);
/// What pages call the phase of that index. Where no optimizer of torch.optim steps, the update of
/// the parameters is among the operators that count as forward.
[[nodiscard]] std::string_view phase_title(const PhaseTimes& phases, size_t index);

/// "kernel 55.5 %, dataloader 33.4 %, cpu 7.7 %": all classes of at least 1 %, the largest first,
/// also those whose parts have no names, in at most `width` columns.
[[nodiscard]] std::string path_classes(const CriticalPath& path, size_t width);

}  // namespace redline::trace
