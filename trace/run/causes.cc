// Causes that hold a run back from its first step on.
#include <algorithm>
#include <map>
#include <set>

#include "base/statistics.h"
#include "trace/run/causes.h"

namespace redline::trace {
namespace {

constexpr double kLeastWarmUp = 0.1;      // of the run's time
constexpr double kLeastSlowStart = 0.02;  // of the run's time, if all of a long warm-up was slow
constexpr double kLeastCompiling = 0.02;  // of the run's time, after the warm-up
constexpr double kLeastUneven = 0.05;     // of the step's time
constexpr double kMostSteady = 0.6;       // (p90 - p10) / p50
constexpr double kLeastExplained = 0.4;
// (p90 - p10) / p50, below which sequence lengths do not matter.
constexpr double kLeastVarying = 0.3;
constexpr double kLeastGrowth = 0.05;
constexpr double kLeastGrownBytes = 32 << 20;

// The mean time of a step without waiting for collectives.
double own_ns(const StepSums& usual) {
  return usual.length_ns / usual.steps - usual.mean_ns(LogPart::kCommunicationWait);
}

// The part of a rank's step that exceeds the median rank's by the most; nullopt if none has half of
// the excess.
std::optional<LogPart> longest_part(const RankRuns& ranks, const std::vector<StepSums>& sums,
                                    size_t rank, double excess_ns) {
  std::optional<LogPart> longest;
  double most = excess_ns / 2;
  for (size_t part = 0; part < kLogParts; ++part) {
    if (static_cast<LogPart>(part) == LogPart::kCommunicationWait) continue;
    if (!all_see(ranks, static_cast<LogPart>(part))) continue;
    std::vector<double> means;
    for (const StepSums& each : sums) means.push_back(each.part_ns[part] / each.steps);
    const double longer = means[rank] - lower_median(means);
    if (longer < most) continue;
    most = longer;
    longest = static_cast<LogPart>(part);
  }
  return longest;
}

// Of all pairs of values that differ, the share that grows with time minus the share that shrinks;
// -1 to 1.
double trend_of(const std::vector<double>& values) {
  double up = 0, down = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i + 1; j < values.size(); ++j) {
      up += values[j] > values[i] ? 1 : 0;
      down += values[j] < values[i] ? 1 : 0;
    }
  }
  return up + down == 0 ? 0 : (up - down) / (up + down);
}

// A run that changed its level has steps of two kinds, each of which may be steady.
bool levels_explain(const StepSpread& spread, const std::vector<RunSegment>& segments) {
  const auto [fastest, slowest] = std::ranges::minmax_element(segments, {}, &RunSegment::step_ns);
  return segments.size() > 1 &&
         slowest->step_ns - fastest->step_ns >= 0.5 * (spread.p90_ns - spread.p10_ns);
}

// How often the value became larger than all before it.
int rises_in(const std::vector<double>& values) {
  int rises = 0;
  double most = values.front();
  for (const double value : values) {
    rises += value > most ? 1 : 0;
    most = std::max(most, value);
  }
  return rises;
}

struct Growth {
  bool on_device = false;
  double bytes = 0;
  double bytes_per_hour = 0;
};

std::optional<Growth> growth_of(const RankRun& rank, bool on_device) {
  constexpr size_t kFewest = 10;
  std::vector<double> values, times;
  if (rank.memory.empty()) return std::nullopt;
  const int64_t begin_ns = rank.memory.front().time_ns;
  const int64_t length_ns = rank.memory.back().time_ns - begin_ns;
  for (const LoggedMemory& each : rank.memory) {
    // Skipped, because memory grows while the job loads and fills its caches.
    if (each.time_ns - begin_ns < length_ns / 10) continue;
    if (each.time_ns > rank.end_ns) break;  // what was kept may be freed after the training
    const int64_t bytes = on_device ? each.device_bytes : each.host_bytes;
    if (bytes == kUnseen) return std::nullopt;
    values.push_back(static_cast<double>(bytes));
    times.push_back(static_cast<double>(each.time_ns));
  }
  if (values.size() < kFewest) return std::nullopt;
  const double middle_ns = (times.front() + times.back()) / 2;
  const auto middle =
      static_cast<size_t>(std::ranges::lower_bound(times, middle_ns) - times.begin());
  const double grown = values.back() - values.front();
  const double lately = values.back() - values[middle];
  const std::vector<double> late(values.begin() + static_cast<ptrdiff_t>(middle), values.end());
  // A leak grows again and again; an allocator that takes one more block does not.
  constexpr int kFewestRises = 3;
  const bool goes_on =
      lately >= 0.25 * grown && trend_of(late) >= 0.8 && rises_in(late) >= kFewestRises;
  if (grown < std::max(kLeastGrownBytes, kLeastGrowth * values.front()) || !goes_on ||
      trend_of(values) < 0.9) {
    return std::nullopt;
  }
  return Growth{on_device, grown, grown / (times.back() - times.front()) * 3600e9};
}

// What a rank compiled after the first time. Once or twice, that belongs to the warm-up; if it
// comes again and again, it is a cause of its own.
struct Compiling {
  double early_ns = 0;  ///< in the warm-up
  double later_ns = 0;

  [[nodiscard]] bool recurs(const RankRun& rank) const {
    return later_ns >= kLeastCompiling * std::max(rank.all.length_ns, 1.0);
  }
};

Compiling compiling_of(const RankRun& rank) {
  Compiling again;
  bool is_first = true;
  for (size_t i = 0; i < rank.blocks.size(); ++i) {
    const double own = rank.blocks[i].all.part_ns[static_cast<size_t>(LogPart::kCompile)];
    const bool is_early = static_cast<int64_t>(i) * rank.block_steps < rank.warm_up_steps;
    const bool is_known = is_early && is_first;
    if (own > 0) is_first = false;
    if (!is_known) (is_early ? again.early_ns : again.later_ns) += own;
  }
  return again;
}

// Whether the run was slow all through a long warm-up, and not only in its first steps.
bool starts_slowly(const RankRun& rank) {
  constexpr int64_t kLong = 50;
  constexpr double kSlower = 1.1;
  const StepSums usual = usual_between(rank, 0, rank.end_step);
  return rank.warm_up_steps > kLong && usual.steps > 0 &&
         warm_up_step_ns(rank) > kSlower * usual.length_ns / usual.steps;
}

// The rank that is behind in its own work, in at least `least_behind` of the blocks between these
// steps.
std::optional<RunFinding> find_uneven_rank(const RankRuns& ranks, int64_t first_step,
                                           int64_t end_step, double least_behind) {
  std::vector<StepSums> sums;
  for (const RankRun& rank : ranks) {
    sums.push_back(usual_between(rank, first_step, end_step));
    if (sums.back().steps <= 0) return std::nullopt;
  }
  std::vector<double> own;
  for (const StepSums& each : sums) own.push_back(own_ns(each));
  const double median = lower_median(own);  // of two ranks the faster is the usual one
  const auto slowest = static_cast<size_t>(std::ranges::max_element(own) - own.begin());
  const double excess = own[slowest] - median;
  const double step_ns = sums[slowest].length_ns / sums[slowest].steps;
  if (excess < kLeastUneven * step_ns) return std::nullopt;
  int blocks = 0, behind = 0;
  const RankRun& rank = ranks[slowest];
  for (auto i = static_cast<size_t>(first_step / rank.block_steps); i < rank.blocks.size(); ++i) {
    std::vector<double> all;
    for (const RankRun& each : ranks) {
      if (i < each.blocks.size() && each.blocks[i].usual.steps > 0) {
        all.push_back(own_ns(each.blocks[i].usual));
      }
    }
    if (all.size() != ranks.size()) continue;
    ++blocks;
    if (all[slowest] - lower_median(all) > kLeastUneven / 2 * step_ns) ++behind;
  }
  constexpr int kFewestBlocks = 8;
  if (blocks < kFewestBlocks || behind < least_behind * blocks) return std::nullopt;
  RunFinding finding;
  finding.cause = RunCause::kUnevenRank;
  finding.from_step = first_step;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (own[i] - median > excess / 2) finding.ranks.push_back(ranks[i].rank);
  }
  finding.change = own[slowest] / median - 1;
  finding.typical_ns = excess;
  finding.lost_share =
      excess * sums[slowest].steps * static_cast<double>(ranks.size()) / total_ns(ranks);
  finding.part = longest_part(ranks, sums, slowest, excess);
  return finding;
}

}  // namespace

bool all_see(const RankRuns& ranks, LogPart part) {
  return std::ranges::all_of(ranks, [part](const RankRun& rank) { return rank.sees_part(part); });
}

std::string host_of(const RankRuns& ranks, const std::vector<int>& numbers) {
  std::set<std::string> theirs, others;
  for (const RankRun& rank : ranks) {
    const bool is_one = std::ranges::find(numbers, rank.rank) != numbers.end();
    (is_one ? theirs : others).insert(rank.host);
  }
  if (theirs.size() != 1 || others.empty() || others == theirs) return "";
  return *theirs.begin();
}

const RankRun& lasting_rank(const RankRuns& ranks) {
  constexpr double kNearly = 0.95;
  const auto steps = [](const RankRun& rank) { return rank.all.steps; };
  const double most = steps(*std::ranges::max_element(ranks, {}, steps));
  return *std::ranges::find_if(ranks,
                               [&](const RankRun& rank) { return steps(rank) >= kNearly * most; });
}

double warm_up_step_ns(const RankRun& rank) {
  std::vector<double> means;
  for (size_t i = 0; i < rank.blocks.size(); ++i) {
    if (static_cast<int64_t>(i + 1) * rank.block_steps > rank.warm_up_steps) break;
    const StepSums& all = rank.blocks[i].all;
    if (all.steps > 0) means.push_back(all.length_ns / all.steps);
  }
  return means.empty() ? 0 : lower_median(means);
}

double total_ns(const RankRuns& ranks) {
  double sum = 0;
  for (const RankRun& rank : ranks) sum += rank.all.length_ns;
  return sum;
}

std::vector<RunFinding> find_same_samples(const RankRuns& ranks) {
  std::map<std::string, std::vector<int>> readers;
  for (const RankRun& rank : ranks) {
    if (rank.batches.is_data_parallel) readers[rank.batches.digest].push_back(rank.rank);
  }
  RunFinding finding;
  finding.cause = RunCause::kSameSamples;
  for (const auto& [digest, its_ranks] : readers) {
    if (its_ranks.size() < 2) continue;
    finding.ranks.insert(finding.ranks.end(), its_ranks.begin(), its_ranks.end());
  }
  if (finding.ranks.empty()) return {};
  std::ranges::sort(finding.ranks);
  return {finding};
}

std::vector<RunFinding> find_uneven_ranks(const RankRuns& ranks,
                                          const std::vector<RunSegment>& segments) {
  if (ranks.size() < 2 || segments.empty() || !all_see(ranks, LogPart::kCommunicationWait)) {
    return {};
  }
  // A rank may be late all along, or since the run has its present level, which may be short.
  constexpr double kAllAlong = 0.9, kInLevel = 0.8;
  const int64_t end_step = segments.back().end_step;
  auto finding = find_uneven_rank(ranks, segments.front().first_step, end_step, kAllAlong);
  if (!finding) finding = find_uneven_rank(ranks, segments.back().first_step, end_step, kInLevel);
  if (!finding) return {};
  return {*finding};
}

std::vector<RunFinding> find_spread(const RankRuns& ranks,
                                    const std::vector<RunSegment>& segments) {
  const auto spread_of = [](const RankRun& rank) {
    return rank.spread.p50_ns <= 0 ? 0
                                   : (rank.spread.p90_ns - rank.spread.p10_ns) / rank.spread.p50_ns;
  };
  const RankRun& rank = *std::ranges::max_element(ranks, {}, spread_of);
  const StepSpread& spread = rank.spread;
  RunFinding finding;
  if (rank.sees_tokens && spread.explained_by_tokens >= kLeastExplained &&
      spread_of(rank) >= kLeastVarying) {
    // Sequences that became longer at some step are no batches of different lengths.
    if (levels_explain(spread, segments)) return {};
    finding.cause = RunCause::kVaryingLengths;
    finding.share = spread.explained_by_tokens;
    return {finding};
  }
  // Batches of different sizes are different work.
  if (rank.sees_samples && spread.explained_by_samples >= kLeastExplained) return {};
  if (spread_of(rank) < kMostSteady || levels_explain(spread, segments)) return {};
  finding.cause = RunCause::kUnsteady;
  finding.change = spread_of(rank);
  finding.low_ns = spread.p10_ns;
  finding.high_ns = spread.p90_ns;
  if (ranks.size() > 1) finding.ranks = {rank.rank};
  for (size_t part = 0; part < kLogParts; ++part) {
    if (rank.sees[part] && spread.part_share[part] >= 0.5) {
      finding.part = static_cast<LogPart>(part);
      finding.share = spread.part_share[part];
    }
  }
  // Waiting for data and pauses have their own findings, by the time that they take.
  if (finding.part && !is_work(*finding.part)) return {};
  return {finding};
}

std::vector<RunFinding> find_memory_growth(const RankRuns& ranks) {
  RunFinding finding;
  finding.cause = RunCause::kMemoryGrowth;
  for (const bool on_device : {true, false}) {
    for (const RankRun& rank : ranks) {
      const auto growth = growth_of(rank, on_device);
      if (!growth) continue;
      finding.on_device = on_device;
      finding.ranks.push_back(rank.rank);
      finding.bytes_per_hour = std::max(finding.bytes_per_hour, growth->bytes_per_hour);
    }
    if (!finding.ranks.empty()) break;
  }
  if (finding.ranks.empty()) return {};
  if (finding.ranks.size() == ranks.size()) finding.ranks.clear();
  return {finding};
}

std::vector<RunFinding> find_warm_up(const RankRuns& ranks) {
  std::vector<RunFinding> findings;
  RunFinding slow_start, recompiles;
  slow_start.cause = RunCause::kWarmUp;
  recompiles.cause = RunCause::kPart;
  recompiles.part = LogPart::kCompile;
  double least = kLeastWarmUp;
  for (const RankRun& rank : ranks) {
    const Compiling again = compiling_of(rank);
    const double length_ns = std::max(rank.all.length_ns, 1.0);
    const double start_ns = rank.warm_up_lost_ns - (again.recurs(rank) ? again.early_ns : 0);
    if (start_ns / length_ns > slow_start.lost_share) {
      slow_start.lost_share = start_ns / length_ns;
      slow_start.count = rank.warm_up_steps;
      slow_start.typical_ns = start_ns;
      least = starts_slowly(rank) ? kLeastSlowStart : kLeastWarmUp;
    }
    const double share = (again.early_ns + again.later_ns) / length_ns;
    if (again.recurs(rank) && share > recompiles.share) {
      recompiles.lost_share = recompiles.share = share;
      recompiles.count = std::ranges::count(rank.marks, LogMarkKind::kCompile, &LogMark::kind);
    }
  }
  if (slow_start.lost_share >= least) findings.push_back(slow_start);
  if (recompiles.share > 0) findings.push_back(recompiles);
  return findings;
}

}  // namespace redline::trace
