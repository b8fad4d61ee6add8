// What can only be learned from the traces of several ranks together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/analysis/clock_alignment.h"
#include "trace/analysis/gpu_sharing.h"
#include "trace/analysis/matched_collectives.h"
#include "trace/analysis/rank_summary.h"
#include "trace/analysis/step_phases.h"

namespace redline::trace {

/// One rank's mean step, split into its own work and the time in which nothing but communication
/// went on. Ranks of a synchronous job have equal steps; the one that the others wait for is the
/// one with the longest own work. Both parts are nullopt where the trace does not tell how long
/// collectives took, or lacks what those of other ranks have (count_in_means).
struct RankTime {
  int rank = 0;
  int64_t step_count = 0;
  int64_t step_ns = 0;
  std::optional<int64_t> own_work_ns = {};
  std::optional<int64_t> exposed_communication_ns = {};
};

/// Who waits for whom: in each collective that the ranks did together, everyone waits from its own
/// arrival, on the common clock, to that of the last one.
struct RankWaits {
  int64_t collectives = 0;
  /// Left out, because one rank had ended before another began: a wrong match.
  int64_t mismatched = 0;
  std::vector<std::vector<int64_t>> ns;  ///< [who waits][for whom], sums over the recording
  int64_t mean_spread_ns = 0;            ///< from the first arrival to the last
  int64_t max_spread_ns = 0;

  /// The index of the rank that the others waited for most; nullopt if nobody waited.
  [[nodiscard]] std::optional<size_t> most_awaited() const;
  [[nodiscard]] int64_t awaited_ns(size_t rank) const;  ///< by all others together
};

struct RankComparison {
  std::vector<RankTime> times;  ///< in the order of the ranks that were given
  /// The index of the rank with the longest own work; nullopt if all are equal, or not known.
  std::optional<size_t> straggler;
  /// The longest own work of a step minus the shortest, among the ranks whose own work is known;
  /// nullopt if fewer than two are.
  std::optional<int64_t> skew_ns;
  /// Where the straggler takes that time; kHost if it is slower in all that it does, too. nullopt
  /// without a straggler, or if nobody knows what it does.
  std::optional<WorkPart> late_in;
  MatchedCollectives matched;
  /// The offset that puts each rank on the clock of the reference; nullopt if no collectives match.
  std::vector<std::optional<ClockOffset>> clocks;
  std::optional<RankWaits> waits;  ///< nullopt without matching collectives
  GpuSharing gpu_sharing;
};

/// The number of each trace's rank: its own or, where it names none, the lowest that no other has.
/// Several windows of one process are of one rank.
[[nodiscard]] std::vector<int> rank_numbers(std::span<const RankSummary* const> traces);

/// One recording. A rank may have several: `rank` is then the same.
struct RankRecording {
  int64_t rank = 0;
  int64_t begin_ns = 0;
  bool counts = false;  ///< whether it has what is to be compared
};

/// Of each rank the recording to compare, ranks in the order of their first ones: the last that
/// counts. Where some ranks have fewer, it is the one that begins nearest to the last of a rank
/// that has the fewest, so that all are of one time.
[[nodiscard]] std::vector<size_t> recordings_to_compare(std::span<const RankRecording> recordings);

/// Whether each trace stands for its rank in means and comparisons: it has a step, a marked one if
/// any trace has such, and all work of its GPU if any of those that are left has it.
[[nodiscard]] std::vector<bool> count_in_means(std::span<const RankSummary* const> traces);

/// nullopt for fewer than two ranks. `numbers`: what the ranks are called.
[[nodiscard]] std::optional<RankComparison> compare_ranks(std::span<const RankSummary* const> ranks,
                                                          std::span<const int> numbers);

/// For a table: "longest own work (in backward)" of the straggler; "" of others.
[[nodiscard]] std::string straggler_mark(const RankComparison& comparison, size_t index);

/// Where a rank takes longer than another.
[[nodiscard]] std::optional<WorkPart> find_late_part(const OwnWork& late, const OwnWork& other);

[[nodiscard]] std::optional<RankWaits> find_waits(
    const MatchedCollectives& matched, std::span<const std::optional<ClockOffset>> clocks);

}  // namespace redline::trace
