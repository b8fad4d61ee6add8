// From paths to a Session, on whatever thread calls it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trace/reader.h"
#include "trace/report.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/links.h"
#include "viewer/models/session.h"

namespace redline::viewer {

struct LoadedSession {
  std::shared_ptr<const Session> session;
  double seconds = 0;  ///< reading, pyramids and all
};

/// The error is a sentence for the user.
[[nodiscard]] tl::expected<LoadedSession, std::string> load_session(
    const std::vector<std::string>& paths, const trace::ReadOptions& options = {});

/// What the panes and tables show, and the tracks that follow from it. Takes its own time, so it
/// comes after loading.
struct AnalysedSession {
  std::shared_ptr<const trace::Report> report;
  std::shared_ptr<const DerivedTracks> derived;
  std::shared_ptr<const CollectiveLinks> collectives;
};

/// Incomplete where `cancel` was set meanwhile.
[[nodiscard]] AnalysedSession analyse_session(const Session& session,
                                              const std::atomic<bool>* cancel = nullptr);

}  // namespace redline::viewer
