// From paths to a Session, on whatever thread calls it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trace/reader.h"
#include "trace/report.h"
#include "viewer/models/session.h"

namespace redline::viewer {

struct LoadedSession {
  std::shared_ptr<const Session> session;
  double seconds = 0;  ///< reading, pyramids and all
};

/// The error is a sentence for the user.
[[nodiscard]] tl::expected<LoadedSession, std::string> load_session(
    const std::vector<std::string>& paths, const trace::ReadOptions& options = {});

/// What the Overview pane and the tables show. Takes its own time, so it follows loading.
/// Incomplete where `cancel` was set meanwhile.
[[nodiscard]] trace::Report report_on(const Session& session,
                                      const std::atomic<bool>* cancel = nullptr);

}  // namespace redline::viewer
