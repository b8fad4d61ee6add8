// Which recordings are of one job. On two nodes, two commands (`redline record` or
// `redline run --log`) record the ranks of one job into one folder; and a job that runs twice
// leaves two sets of files there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redline::trace {

/// What a trace or a step log says of itself.
struct RecordingMember {
  std::string recording;  ///< the name that one command gives to all its files (new_run_name)
  std::optional<int> rank;
  std::optional<int> world_size;
  int64_t last_ns = INT64_MAX;  ///< the last moment that it tells of, unix time
};

/// The number of each member's job; job 0 is the latest. Recordings are of one job if they have the
/// same world size, no rank in common, and the earlier one went on when the later command began.
/// Processes without ranks may all be of one job. Members of one recording always are.
[[nodiscard]] std::vector<size_t> jobs_of(const std::vector<RecordingMember>& members);

}  // namespace redline::trace
