// Jobs that run right now, as `redline monitor` shows them.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/terminal.h"
#include "trace/run/recent.h"

namespace redline::trace {

/// What the logs of the running jobs said at one moment. Their figures and ages are those of then.
struct ReadJobs {
  int64_t read_ns = 0;  ///< unix time at which the reading began
  std::vector<RunningJob> jobs;
};

/// Reads the logs of the running jobs. For many ranks that takes long; then it is done less often,
/// so that it takes at most a twentieth of the time.
class JobWatcher {
 public:
  using Read = std::function<std::vector<RunningJob>()>;

  explicit JobWatcher(Read read, std::function<int64_t()> clock = monotonic_ns)
      : read_(std::move(read)), clock_(std::move(clock)) {}

  /// `now_ns` is unix time.
  [[nodiscard]] const ReadJobs& look(int64_t now_ns);

 private:
  Read read_;
  std::function<int64_t()> clock_;
  ReadJobs last_;
  std::optional<int64_t> next_ns_;  ///< when they are read again; nullopt: at once
};

/// A table of at most 80 columns; "" if there are no jobs. `now_ns` is unix time.
[[nodiscard]] std::string jobs_text(const ReadJobs& read, const TextStyle& style, int64_t now_ns);

/// The value of the key "jobs" in redline.monitor/1.
[[nodiscard]] nlohmann::ordered_json jobs_json(const ReadJobs& read);

/// A file for the textfile collector of Prometheus' node exporter (text exposition format 0.0.4).
/// Names follow https://prometheus.io/docs/practices/naming: base units, and a moment instead of an
/// age. A figure that is unknown has no line.
[[nodiscard]] std::string jobs_prometheus(const ReadJobs& read);

}  // namespace redline::trace
