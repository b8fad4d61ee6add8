// Which calls of several ranks are one and the same collective of the job.
//
// Where the process group numbers its calls ("Seq"), by that number. Else by counting: the n-th
// call of a group, kind and size within the step of the same number, or within the whole trace
// where steps have no numbers. Counting inside steps holds for ranks whose recordings begin at
// different times; counting without them does not, so it takes only kinds that all ranks have
// equally often.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/analysis/collective_calls.h"
#include "trace/model/model.h"

namespace redline::trace {

struct RankTrace {
  const Trace* trace = nullptr;
  const CollectiveCalls* collectives = nullptr;
};

enum class MatchedBy : uint8_t { kSequenceNumber, kStep, kOrdinal };

/// The calls of one collective, one a rank that has it in its trace; at least two.
struct MatchedCollective {
  struct Call {
    uint32_t rank = 0;  ///< index into the list of ranks
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    SliceId slice;
  };
  CollectiveKind kind = CollectiveKind::kOther;
  std::vector<Call> calls;  ///< by rank
};

struct MatchedCollectives {
  MatchedBy by = MatchedBy::kOrdinal;
  std::vector<MatchedCollective> collectives;
};

/// Only collectives that no rank leaves before all have entered, and only calls that took place
/// when their slices say: NCCL's annotations on the host end when the kernel is queued.
[[nodiscard]] MatchedCollectives match_collectives(std::span<const RankTrace> ranks);

}  // namespace redline::trace
