// From paths to a Session, on whatever thread calls it.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trace/reader.h"
#include "viewer/models/session.h"

namespace redline::viewer {

struct LoadedSession {
  std::shared_ptr<const Session> session;
  double seconds = 0;  ///< reading, pyramids and all
};

/// The error is a sentence for the user.
[[nodiscard]] tl::expected<LoadedSession, std::string> load_session(
    const std::vector<std::string>& paths, const trace::ReadOptions& options = {});

}  // namespace redline::viewer
