// Finds which calls of several ranks are one and the same collective of the job.
//
// Calls are matched by number if the process group numbers them ("Seq"). Otherwise they are
// counted: the n-th calls of a group, kind and size match within the step of the same number, or
// within the whole trace if steps have no numbers. Counting inside steps holds for ranks whose
// recordings begin at different times; counting without steps does not, so then only kinds are
// matched that all ranks have equally often.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/analysis/rank_collectives.h"
#include "trace/model/model.h"

namespace redline::trace {

enum class MatchedBy : uint8_t { kSequenceNumber, kStep, kOrdinal };

/// The calls of one collective: one for each rank that has it in its trace, at least two.
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

[[nodiscard]] MatchedCollectives match_collectives(std::span<const RankCollectives* const> ranks);

}  // namespace redline::trace
