#include "viewer/models/load.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>

#include "viewer/models/collectives_table.h"
#include "viewer/models/diff_table.h"
#include "viewer/models/gaps.h"
#include "viewer/models/hang_rows.h"
#include "viewer/models/path_table.h"
#include "viewer/models/steps_table.h"

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

tl::expected<LoadedSession, std::string> load_session(const std::vector<std::string>& paths,
                                                      const trace::ReadOptions& options) {
  return load_comparison({}, paths, options);
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

bool is_compressed(const std::string& file) {
  return file.ends_with(".gz") || file.ends_with(".zst");
}

Amount amount_of(const std::vector<std::string>& paths, const trace::CacheOptions& cache) {
  Amount amount;
  for (const std::string& path : paths) {
    for (const std::string& file : trace::find_traces(path).value_or(std::vector<std::string>())) {
      std::error_code error;
      const uint64_t bytes = std::filesystem::file_size(file, error);
      if (error) continue;
      ++amount.files;
      if (trace::may_be_cached(file, cache)) continue;
      amount.text_bytes += bytes * (is_compressed(file) ? trace::kUsualTextRatio : 1);
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

trace::Report report_between(const Session& session, size_t first, size_t end,
                             const std::atomic<bool>* cancel) {
  trace::Traces traces;
  for (size_t t = first; t < end; ++t) {
    const auto& trace = session.traces()[t].trace;
    if (trace->slice_count() > 0) traces.push_back(trace);
  }
  if (traces.empty()) return {};
  trace::Report report = trace::make_report(traces, cancel);
  std::set<std::string> folders;
  for (const auto& trace : traces) {
    folders.insert(std::filesystem::absolute(trace->path()).parent_path().string());
  }
  trace::add_hang(report, {folders.begin(), folders.end()});
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
          .kernels = kernel_rows(report, *analysed.origins),
          .operators = operator_rows(report),
          .collectives = collective_rows(session, report),
          .steps = step_rows(session, report, *analysed.derived),
          .ranks = rank_rows(session, report),
          .hang = hang_rows(session, report),
          .gaps = gap_rows(session, report, *analysed.derived),
          .memory = memory_rows(session, report),
          .roofline = roofline_table(session, report),
          .copies = copy_rows(report),
          .path = critical_path_rows(session, report)};
}

}  // namespace

AnalysedSession analyse_session(const Session& session, const std::atomic<bool>* cancel) {
  const size_t split = session.before_count();
  const trace::Report before = report_between(session, 0, split, cancel);
  const auto report = std::make_shared<const trace::Report>(
      report_between(session, split, session.traces().size(), cancel));
  AnalysedSession analysed{report,
                           std::make_shared<const DerivedTracks>(),
                           std::make_shared<const CollectiveLinks>(),
                           std::make_shared<const Colours>(),
                           nullptr,
                           std::make_shared<const KernelOrigins>(),
                           std::make_shared<const ReportTables>(),
                           {},
                           {}};
  if (before.is_cancelled || report->is_cancelled) return analysed;
  DerivedTracks derived = derive_tracks(session, before);
  append(derived, derive_tracks(session, *report));
  analysed.derived = std::make_shared<const DerivedTracks>(std::move(derived));
  analysed.colours = std::make_shared<const Colours>(session, *report, *analysed.derived);
  analysed.collectives = std::make_shared<const CollectiveLinks>(session, *report);
  analysed.origins = std::make_shared<const KernelOrigins>(kernel_origins(*report));
  analysed.step_bars = step_bars(session, *report);
  analysed.roofline = roofline_picture(*report);
  if (!before.analyses.empty() && !report->analyses.empty()) {
    analysed.diff = std::make_shared<const trace::Diff>(trace::compare_runs(before, *report));
  }
  analysed.tables = std::make_shared<const ReportTables>(tables_of(session, analysed));
  return analysed;
}

}  // namespace redline::viewer
