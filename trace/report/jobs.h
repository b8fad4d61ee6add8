// Jobs that run right now, as `redline monitor` shows them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "trace/run/recent.h"

namespace redline::trace {

/// A table of at most 80 columns; "" if there are no jobs. `now_ns` is unix time.
[[nodiscard]] std::string jobs_text(const std::vector<RunningJob>& jobs, const TextStyle& style,
                                    int64_t now_ns);

/// The value of the key "jobs" in redline.monitor/1.
[[nodiscard]] nlohmann::ordered_json jobs_json(const std::vector<RunningJob>& jobs);

/// A file for the textfile collector of Prometheus' node exporter (text exposition format 0.0.4).
/// Names follow https://prometheus.io/docs/practices/naming: base units, and a moment instead of an
/// age. A figure that is unknown has no line.
[[nodiscard]] std::string jobs_prometheus(const std::vector<RunningJob>& jobs);

}  // namespace redline::trace
