// The traces of several ranks as one file, on the clock of the first one.
//
// Every row keeps its pid if no other rank has it, also in a later window of its process; else it
// gets a free one, so that a GPU or a process of one rank is never mistaken for another's.
// Processes bear their rank ("rank 1 · python"), correlation and flow numbers are unique over all
// ranks, and what each file said of its process stays under "redline_merge".
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trace/analysis/clock_alignment.h"
#include "trace/model/model.h"

namespace redline::trace {

/// A multiple of it is added to a process id that another rank's file has, too. It is above Linux'
/// largest one.
constexpr int32_t kMergedPidStride = 10'000'000;

struct MergeOptions {
  bool align = true;  ///< false: every rank keeps its own clock
  std::function<void(uint64_t done, uint64_t total)> progress = {};  ///< in events
  const std::atomic<bool>* cancel = nullptr;
};

/// How one rank went into the file.
struct MergedRank {
  std::string path;
  std::string label;  ///< "rank 1", or the file's name if it has no rank
  /// nullopt: it kept its own clock, as no collective is in common
  std::optional<ClockOffset> clock;
};

/// The rank whose clock the others were put on.
[[nodiscard]] const MergedRank& reference_of(std::span<const MergedRank> ranks);

/// Writes `path` (gzip if it ends in ".gz") whole or not at all. The error says what and why.
[[nodiscard]] tl::expected<std::vector<MergedRank>, std::string> merge_traces(
    std::span<const std::shared_ptr<const Trace>> traces, const std::string& path,
    const MergeOptions& options = {});

}  // namespace redline::trace
