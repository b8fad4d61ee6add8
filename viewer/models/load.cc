#include "viewer/models/load.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>

#include "base/parallel.h"
#include "trace/advice/advice.h"
#include "trace/read/recordings.h"
#include "trace/summary/summarize.h"
#include "viewer/models/collectives_table.h"
#include "viewer/models/diff_table.h"
#include "viewer/models/gaps.h"
#include "viewer/models/hang_rows.h"
#include "viewer/models/modules.h"
#include "viewer/models/path_table.h"
#include "viewer/models/steps_table.h"
#include "viewer/models/summary.h"
#include "viewer/models/tree_table.h"

namespace redline::viewer {

namespace {

using Read = tl::expected<trace::Traces, std::string>;

Read read_some(const std::vector<std::string>& paths, trace::ReadOptions options,
               std::vector<trace::ReadError>& left_out) {
  std::vector<trace::ReadError> unreadable;
  options.unreadable = &unreadable;
  auto traces = trace::read_traces(paths, options);
  if (!traces) return tl::unexpected(traces.error().message);
  left_out.insert(left_out.end(), unreadable.begin(), unreadable.end());
  return *std::move(traces);
}

}  // namespace

namespace {

bool is_compressed(const std::string& file) {
  return file.ends_with(".gz") || file.ends_with(".zst");
}

uint64_t text_bytes_of(const std::string& file) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(file, error);
  return error ? 0 : bytes * (is_compressed(file) ? trace::kUsualTextRatio : 1);
}

}  // namespace

bool opens_first_ranks(const std::vector<std::string>& paths, const ManyRanks& many) {
  uint64_t bytes = 0;
  size_t files = 0;
  for (const std::string& path : paths) {
    for (const std::string& file : trace::find_traces(path).value_or(std::vector<std::string>())) {
      bytes += text_bytes_of(file);
      ++files;
    }
  }
  return files >= many.least_ranks && bytes >= many.least_bytes;
}

namespace {

// The beginning of a file tells its rank. That is not enough where it does not, where a rank has
// several traces (then their recordings decide which count), and where flight recorders wrote them
// (then their times do).
bool tell_all(const trace::Traces& heads) {
  std::set<int> ranks;
  return std::all_of(heads.begin(), heads.end(), [&ranks](const auto& head) {
    const auto rank = head->metadata().rank;
    return rank && ranks.insert(*rank).second && trace::recorded_trace(*head).ring_process.empty();
  });
}

/// Loads the first ranks and knows the others by name; nullopt if all must be loaded.
std::optional<LoadedSession> open_first_ranks(const std::vector<std::string>& paths,
                                              const trace::ReadOptions& options,
                                              const ManyRanks& many) {
  constexpr uint64_t kHeadBytes = 64 << 10;
  if (!opens_first_ranks(paths, many)) return std::nullopt;
  LoadedSession first;
  trace::ReadOptions head = options;
  head.most_text_bytes = kHeadBytes;
  head.text_block_bytes = kHeadBytes;
  head.threads = 1;
  head.progress = nullptr;
  head.unreadable = &first.unreadable;
  const auto heads = trace::read_traces(paths, head);
  if (!heads || heads->size() < many.least_ranks || !tell_all(*heads)) return std::nullopt;
  for (const trace::ReadError& error : first.unreadable) {
    if (trace::read_trace(error.path, options)) return std::nullopt;  // it begins with much else
  }
  std::vector<SessionSource> sources;
  uint64_t bytes = 0;
  for (const auto& each : *heads) {
    bytes += text_bytes_of(each->path());
    const bool is_first =
        sources.empty() || (sources.size() < many.opened && bytes <= many.opened_bytes);
    if (!is_first) {
      sources.push_back({trace::without_events(*each), false});
      continue;
    }
    auto whole = trace::read_trace(each->path(), options);
    if (!whole) return std::nullopt;
    sources.push_back({*std::move(whole)});
  }
  first.session = std::make_shared<const Session>(Session::of_ranks(sources));
  return first;
}

}  // namespace

tl::expected<LoadedSession, std::string> load_session(const std::vector<std::string>& paths,
                                                      const trace::ReadOptions& options,
                                                      const ManyRanks& many) {
  const auto start = std::chrono::steady_clock::now();
  auto first = open_first_ranks(paths, options, many);
  if (!first) return load_comparison({}, paths, options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  first->seconds = took.count();
  return *std::move(first);
}

ReadRanks read_ranks(const Session& session, const std::vector<uint32_t>& ranks,
                     const std::atomic<bool>* cancel) {
  ReadRanks read;
  std::mutex mutex;
  const auto add = [&](size_t i, unsigned threads) {
    const uint32_t rank = ranks[i];
    trace::ReadOptions options;
    options.cancel = cancel;
    options.threads = threads;
    auto trace = trace::read_trace(session.traces()[rank].trace->path(), options);
    if (!trace) {
      const std::lock_guard lock(mutex);
      read.failed.emplace(rank, trace.error().message);
      return;
    }
    SessionTrace item = session.prepared(rank, *std::move(trace));
    const std::lock_guard lock(mutex);
    read.ranks.emplace(rank, std::move(item));
  };
  const unsigned cores = thread_count(0);
  const unsigned at_once = ranks.size() >= cores ? cores : 1;
  for_each_index(at_once, ranks.size(),
                 [&](size_t i, unsigned) { add(i, at_once > 1 ? 1 : cores); });
  return read;
}

tl::expected<LoadedSession, std::string> load_comparison(const std::vector<std::string>& before,
                                                         const std::vector<std::string>& after,
                                                         const trace::ReadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  LoadedSession loaded;
  auto traces = read_some(before, options, loaded.unreadable);
  if (!traces) return tl::unexpected(traces.error());
  const size_t before_count = traces->size();
  const auto others = read_some(after, options, loaded.unreadable);
  if (!others) return tl::unexpected(others.error());
  traces->insert(traces->end(), others->begin(), others->end());
  loaded.session = std::make_shared<const Session>(*std::move(traces), before_count);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  loaded.seconds = took.count();
  return loaded;
}

namespace {

/// About how many bytes of text there are to read, in how many files. Files that open at once count
/// nothing.
struct Amount {
  uint64_t text_bytes = 0;
  uint64_t files = 0;
};

Amount amount_of(const std::vector<std::string>& paths, const trace::CacheOptions& cache) {
  Amount amount;
  for (const std::string& path : paths) {
    for (const std::string& file : trace::find_traces(path).value_or(std::vector<std::string>())) {
      std::error_code error;
      if (!std::filesystem::exists(file, error)) continue;
      ++amount.files;
      if (!trace::may_be_cached(file, cache)) amount.text_bytes += text_bytes_of(file);
    }
  }
  return amount;
}

}  // namespace

std::optional<LoadedSession> load_beginning(const std::vector<std::string>& before,
                                            const std::vector<std::string>& paths,
                                            const FirstLook& look, trace::ReadOptions options) {
  Amount amount = amount_of(paths, options.cache);
  const Amount amount_before = amount_of(before, options.cache);
  amount.text_bytes += amount_before.text_bytes;
  amount.files += amount_before.files;
  if (amount.files == 0 || amount.text_bytes < look.least_bytes) return std::nullopt;
  options.progress = nullptr;
  options.most_text_bytes =
      std::min(amount.text_bytes / look.share, look.most_bytes) / amount.files;
  auto loaded = load_comparison(before, paths, options);
  if (!loaded || loaded->session->lane_count() == 0) return std::nullopt;
  loaded->is_whole = false;
  return *std::move(loaded);
}

std::optional<std::chrono::seconds> time_left(int64_t elapsed_ns, uint64_t done, uint64_t total) {
  if (elapsed_ns < 1'000'000'000 || done == 0 || done >= total) return std::nullopt;
  const double rate = static_cast<double>(done) / static_cast<double>(elapsed_ns);
  const double left_s = static_cast<double>(total - done) / rate * 1e-9;
  if (left_s > 1e6) return std::nullopt;
  return std::chrono::seconds(std::llround(std::ceil(left_s)));
}

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
  for (size_t t = first; t < end; ++t) {
    const auto& trace = session.traces()[t].trace;
    if (trace->slice_count() > 0) traces.push_back(trace);
  }
  if (traces.empty()) return {};
  trace::Report report = trace::make_report(traces, cancel);
  find_hang(report);
  return report;
}

/// Reads all ranks once and drops them.
RankPass read_and_drop(const Session& session, const std::atomic<bool>* cancel,
                       const std::function<void(size_t done, size_t total)>& progress) {
  std::vector<std::string> paths;
  for (const SessionTrace& item : session.traces()) paths.push_back(item.trace->path());
  std::map<std::string, std::shared_ptr<const RankOutline>> outlines;
  std::mutex mutex;
  trace::SummarizeOptions options;
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
  std::move(more.devices.begin(), more.devices.end(), std::back_inserter(all.devices));
  std::move(more.graphs.begin(), more.graphs.end(), std::back_inserter(all.graphs));
}

ReportTables tables_of(const Session& session, const AnalysedSession& analysed) {
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
          .roofline = roofline_table(session, report),
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
  AnalysedSession analysed{report,
                           std::make_shared<const DerivedTracks>(),
                           std::make_shared<const CollectiveLinks>(),
                           std::make_shared<const Colours>(),
                           nullptr,
                           nullptr,
                           std::make_shared<const KernelOrigins>(),
                           std::make_shared<const ReportTables>(),
                           {},
                           {},
                           session.loaded_count(),
                           std::move(known)};
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
  analysed.tables = std::make_shared<const ReportTables>(tables_of(session, analysed));
  return analysed;
}

}  // namespace redline::viewer
