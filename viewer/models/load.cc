#include "viewer/models/load.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>

namespace redline::viewer {

tl::expected<LoadedSession, std::string> load_session(const std::vector<std::string>& paths,
                                                      const trace::ReadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  auto traces = trace::read_traces(paths, options);
  if (!traces) return tl::unexpected(traces.error().message);
  auto session = std::make_shared<const Session>(std::move(*traces));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return LoadedSession{std::move(session), took.count()};
}

tl::expected<LoadedSession, std::string> load_comparison(const std::vector<std::string>& before,
                                                         const std::vector<std::string>& after,
                                                         const trace::ReadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  auto traces = trace::read_traces(before, options);
  if (!traces) return tl::unexpected(traces.error().message);
  const size_t before_count = traces->size();
  auto others = trace::read_traces(after, options);
  if (!others) return tl::unexpected(others.error().message);
  traces->insert(traces->end(), others->begin(), others->end());
  auto session = std::make_shared<const Session>(std::move(*traces), before_count);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return LoadedSession{std::move(session), took.count()};
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
  auto loaded =
      before.empty() ? load_session(paths, options) : load_comparison(before, paths, options);
  if (!loaded || loaded->session->lane_count() == 0) return std::nullopt;
  loaded->is_whole = false;
  return *std::move(loaded);
}

namespace {

trace::Report report_between(const Session& session, size_t first, size_t end,
                             const std::atomic<bool>* cancel) {
  trace::Traces traces;
  for (size_t t = first; t < end; ++t) {
    const auto& trace = session.traces()[t].trace;
    if (trace->slice_count() > 0) traces.push_back(trace);
  }
  return traces.empty() ? trace::Report() : trace::make_report(traces, cancel);
}

void append(DerivedTracks& all, DerivedTracks more) {
  std::move(more.devices.begin(), more.devices.end(), std::back_inserter(all.devices));
  std::move(more.graphs.begin(), more.graphs.end(), std::back_inserter(all.graphs));
}

}  // namespace

AnalysedSession analyse_session(const Session& session, const std::atomic<bool>* cancel) {
  const size_t split = session.before_count();
  const trace::Report before = report_between(session, 0, split, cancel);
  const auto report = std::make_shared<const trace::Report>(
      report_between(session, split, session.traces().size(), cancel));
  AnalysedSession analysed{report, std::make_shared<const DerivedTracks>(),
                           std::make_shared<const CollectiveLinks>(),
                           std::make_shared<const Colours>(), nullptr};
  if (before.is_cancelled || report->is_cancelled) return analysed;
  DerivedTracks derived = derive_tracks(session, before);
  append(derived, derive_tracks(session, *report));
  analysed.derived = std::make_shared<const DerivedTracks>(std::move(derived));
  analysed.colours = std::make_shared<const Colours>(session, *report, *analysed.derived);
  analysed.collectives = std::make_shared<const CollectiveLinks>(session, *report);
  if (!before.traces.empty() && !report->traces.empty()) {
    analysed.diff = std::make_shared<const trace::Diff>(trace::compare_runs(before, *report));
  }
  return analysed;
}

}  // namespace redline::viewer
