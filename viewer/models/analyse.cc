#include "viewer/models/analyse.h"

#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "trace/advice/advice.h"
#include "trace/summary/summarize.h"
#include "viewer/models/collectives_table.h"
#include "viewer/models/diff_table.h"
#include "viewer/models/gaps.h"
#include "viewer/models/hang_rows.h"
#include "viewer/models/modules.h"
#include "viewer/models/overview.h"
#include "viewer/models/path_table.h"
#include "viewer/models/session_report.h"
#include "viewer/models/tree_table.h"

namespace redline::viewer {
namespace {

void find_hang(trace::Report& report) {
  std::set<std::string> folders;
  for (const trace::RankSummary& rank : report.traces) {
    folders.insert(std::filesystem::absolute(rank.facts.path).parent_path().string());
  }
  trace::add_hang(report, {folders.begin(), folders.end()});
}

trace::Report report_between(const Session& session, size_t first, size_t end,
                             const std::atomic<bool>* cancel) {
  trace::Traces traces;
  bool has_slices = false;
  for (size_t t = first; t < end; ++t) {
    traces.push_back(session.traces()[t].trace);
    has_slices |= traces.back()->slice_count() > 0;
  }
  if (!has_slices) return {};
  trace::Report report = trace::make_report(traces, cancel);
  find_hang(report);
  return report;
}

/// Summarizes all ranks. Those that are not loaded are read once and dropped.
RankPass read_and_drop(const Session& session, const std::atomic<bool>* cancel,
                       const std::function<void(size_t done, size_t total)>& progress) {
  std::map<std::string, std::shared_ptr<const RankOutline>> outlines;
  std::mutex mutex;
  trace::SummarizeOptions options;
  std::vector<std::string> paths;
  for (const SessionTrace& item : session.traces()) {
    paths.push_back(item.trace->path());
    if (item.is_loaded) options.known.emplace(item.trace->path(), item.trace);
  }
  options.cancel = cancel;
  options.visit = [&](const std::shared_ptr<const trace::Trace>& trace) {
    auto outline = outline_of(trace);
    const std::lock_guard lock(mutex);
    outlines[trace->path()] = std::move(outline);
    if (progress) progress(outlines.size(), paths.size());
  };
  RankPass pass;
  auto all = trace::summarize(paths, options);
  if (!all) return pass;
  pass.summaries = std::make_shared<const std::vector<trace::RankSummary>>(std::move(all->ranks));
  pass.unreadable = std::move(all->unreadable);
  for (const std::string& path : paths) pass.outlines.push_back(outlines[path]);
  return pass;
}

/// On all ranks by their summaries, with the analyses of those that are loaded.
trace::Report report_on_ranks(const Session& session, const RankPass& pass,
                              const std::atomic<bool>* cancel) {
  trace::Report report;
  report.is_cancelled = !pass.summaries;
  if (report.is_cancelled) return report;
  report = trace::make_report(*pass.summaries);
  for (size_t i = 0; i < report.traces.size() && !report.is_cancelled; ++i) {
    const auto index = trace_at(session, report, i);
    if (!index || !session.traces()[*index].is_loaded) continue;
    report.analyses.push_back(
        trace::advised(trace::analyze(session.traces()[*index].trace, cancel)));
    report.is_cancelled = report.analyses.back().is_cancelled;
  }
  find_hang(report);
  return report;
}

void append(DerivedTracks& all, DerivedTracks more) {
  std::move(more.runtimes.begin(), more.runtimes.end(), std::back_inserter(all.runtimes));
  std::move(more.marks.begin(), more.marks.end(), std::back_inserter(all.marks));
  std::move(more.devices.begin(), more.devices.end(), std::back_inserter(all.devices));
  std::move(more.graphs.begin(), more.graphs.end(), std::back_inserter(all.graphs));
}

ReportTables tables_of(const Session& session, const AnalysedSession& analysed,
                       const std::atomic<bool>* cancel) {
  const trace::Report& report = *analysed.report;
  return {.compare = analysed.diff ? diff_rows(session, report, *analysed.diff) : Table(),
          .tree = analysed.tree ? tree_rows(*analysed.tree) : Table(),
          .kernels = kernel_rows(report, *analysed.origins),
          .operators = operator_rows(report),
          .collectives = collective_rows(session, report),
          .steps = step_rows(session, report, *analysed.derived),
          .ranks = rank_rows(session, report),
          .hang = hang_rows(session, report),
          .gaps = gap_rows(session, report, *analysed.derived),
          .memory = memory_rows(session, report),
          .roofline = roofline_table(session, report, cancel),
          .modules = module_table(report),
          .copies = copy_rows(report),
          .path = critical_path_rows(session, report)};
}

}  // namespace

AnalysedSession analyse_session(const Session& session, const std::atomic<bool>* cancel,
                                RankPass known,
                                const std::function<void(size_t done, size_t total)>& progress) {
  const size_t split = session.before_count();
  const trace::Report before = report_between(session, 0, split, cancel);
  const bool is_by_summaries = session.is_partial() || known.summaries;
  if (is_by_summaries && !known.summaries) known = read_and_drop(session, cancel, progress);
  const auto report = std::make_shared<const trace::Report>(
      is_by_summaries ? report_on_ranks(session, known, cancel)
                      : report_between(session, split, session.traces().size(), cancel));
  AnalysedSession analysed;
  analysed.report = report;
  analysed.loaded_count = session.loaded_count();
  analysed.pass = std::move(known);
  if (before.is_cancelled || report->is_cancelled) return analysed;
  DerivedTracks derived = derive_tracks(session, before);
  append(derived, derive_tracks(session, *report));
  analysed.derived = std::make_shared<const DerivedTracks>(std::move(derived));
  analysed.colours = std::make_shared<const Colours>(session, *report, *analysed.derived);
  analysed.collectives = std::make_shared<const CollectiveLinks>(session, *report);
  analysed.origins = std::make_shared<const KernelOrigins>(kernel_origins(*report));
  analysed.step_bars = step_bars(session, *report);
  analysed.roofline = roofline_picture(*report);
  analysed.modules = std::make_shared<const Flame>(module_icicle(*report));
  if (!before.analyses.empty() && !report->analyses.empty()) {
    analysed.diff = std::make_shared<const trace::Diff>(trace::compare_runs(before, *report));
    analysed.tree = std::make_shared<const trace::TreeDiff>(trace::compare_trees(before, *report));
  }
  analysed.tables = std::make_shared<const ReportTables>(tables_of(session, analysed, cancel));
  return analysed;
}

}  // namespace redline::viewer
