#include "viewer/models/load.h"

#include <chrono>
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

trace::Traces traces_between(const Session& session, size_t first, size_t end) {
  trace::Traces traces;
  for (size_t t = first; t < end; ++t) {
    const auto& trace = session.traces()[t].trace;
    if (trace->slice_count() > 0) traces.push_back(trace);
  }
  return traces;
}

void append(DerivedTracks& all, DerivedTracks more) {
  std::move(more.devices.begin(), more.devices.end(), std::back_inserter(all.devices));
  std::move(more.graphs.begin(), more.graphs.end(), std::back_inserter(all.graphs));
}

}  // namespace

AnalysedSession analyse_session(const Session& session, const std::atomic<bool>* cancel) {
  const size_t split = session.before_count();
  const trace::Traces before = traces_between(session, 0, split);
  const trace::Traces after = traces_between(session, split, session.traces().size());
  auto report = std::make_shared<trace::Report>();
  if (!after.empty()) *report = trace::make_report(after, cancel);
  AnalysedSession analysed{report, std::make_shared<const DerivedTracks>(),
                           std::make_shared<const CollectiveLinks>(), nullptr};
  if (report->is_cancelled) return analysed;
  DerivedTracks derived;
  if (!before.empty()) append(derived, derive_tracks(session, trace::make_report(before, cancel)));
  append(derived, derive_tracks(session, *report));
  analysed.derived = std::make_shared<const DerivedTracks>(std::move(derived));
  analysed.collectives = std::make_shared<const CollectiveLinks>(session, *report);
  if (!before.empty() && !after.empty()) {
    analysed.diff = std::make_shared<const trace::Diff>(trace::compare_runs(before, after));
  }
  return analysed;
}

}  // namespace redline::viewer
