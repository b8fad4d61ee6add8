#include "viewer/models/load.h"

#include <chrono>

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

AnalysedSession analyse_session(const Session& session, const std::atomic<bool>* cancel) {
  std::vector<std::shared_ptr<const trace::Trace>> traces;
  for (const SessionTrace& item : session.traces()) {
    if (item.trace->slice_count() > 0) traces.push_back(item.trace);
  }
  auto report = std::make_shared<trace::Report>();
  if (!traces.empty()) *report = trace::make_report(traces, cancel);
  AnalysedSession analysed{report, std::make_shared<const DerivedTracks>(),
                           std::make_shared<const CollectiveLinks>()};
  if (report->is_cancelled) return analysed;
  analysed.derived = std::make_shared<const DerivedTracks>(derive_tracks(session, *report));
  analysed.collectives = std::make_shared<const CollectiveLinks>(session, *report);
  return analysed;
}

}  // namespace redline::viewer
