// What came out of reading: files, events, and each kind of repair or loss with its place.
#pragma once

#include <string>

#include "viewer/models/session.h"

namespace redline::viewer {

/// Lines for people.
[[nodiscard]] std::string load_report(const Session& session);

}  // namespace redline::viewer
