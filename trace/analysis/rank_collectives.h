// What the comparison of ranks needs of one rank: when its collectives ran, and which clock it
// reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/analysis/collective_calls.h"
#include "trace/model/model.h"

namespace redline::trace {

/// The clock that all processes of a host read.
struct HostClock {
  std::string host;
  /// Of the trace's times over CLOCK_MONOTONIC; nullopt if the recorder was not Redline.
  std::optional<int64_t> offset_ns;
};
[[nodiscard]] HostClock host_clock(const Metadata& metadata);

/// A call that no rank leaves before all have entered it, and whose slice shows when it really ran:
/// NCCL's annotations on the host end as soon as the kernel is queued.
struct TimedCall {
  static constexpr int64_t kNoStep = INT64_MIN;

  uint32_t group = 0;  ///< index into RankCollectives::groups
  CollectiveKind kind = CollectiveKind::kOther;
  SliceId slice;
  int64_t bytes = -1;      ///< CollectiveCall::bytes
  int64_t seq = 0;         ///< CollectiveCall::seq
  int64_t step = kNoStep;  ///< the number of the step in which it was launched
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

struct RankCollectives {
  std::vector<ProcessGroup> groups;
  std::vector<TimedCall> calls;  ///< by begin; not those of a part of the job that has no name
  bool has_seqs = true;          ///< the trace has the sequence numbers of all its collectives
  bool has_numbered_steps = false;
  HostClock clock;
};

[[nodiscard]] RankCollectives rank_collectives(const Trace& trace,
                                               const CollectiveCalls& collectives);

}  // namespace redline::trace
