// A snapshot as a table for people and as JSON for programs.
#pragma once

#include <string>

#include "base/terminal.h"
#include "machine/monitor/snapshot.h"

namespace redline::monitor {

/// At most 80 columns wide: the host, then two lines or three for each GPU.
[[nodiscard]] std::string as_text(const Snapshot& snapshot, const TextStyle& style);

/// One line of schema redline.monitor/1, with its newline.
[[nodiscard]] std::string as_json(const Snapshot& snapshot);

}  // namespace redline::monitor
