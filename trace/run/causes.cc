// Causes that hold a run back from its first step on.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/statistics.h"
#include "trace/model/loader_workers.h"
#include "trace/run/causes.h"

namespace redline::trace {
namespace {

constexpr double kLeastStalled = 0.02;  // of the run's time, lost in slow steps
constexpr double kLeastUneven = 0.05;   // of the step's time
constexpr double kMostSteady = 0.6;     // (p90 - p10) / p50
constexpr double kLeastExplained = 0.4;
// (p90 - p10) / p50, below which sequence lengths do not matter.
constexpr double kLeastVarying = 0.3;
constexpr double kLeastGrowth = 0.05;
constexpr double kLeastGrownBytes = 32 << 20;
constexpr auto kWaitPart = static_cast<size_t>(LogPart::kCommunicationWait);

/// By LogPart, the share of the run's time from which on the part is worth a finding. Above 1 it
/// never is, because the part is the work itself.
constexpr std::array<double, kLogParts> kWorthy = {0.1, 2, 2, 2, 0.25, 0.15, 0.05, 0.03, 2};

// The share of a part in the blocks behind the warm-up.
double later_share(const RankRuns& ranks, size_t part) {
  double part_ns = 0, all_ns = 0;
  for (const RankRun& rank : ranks) {
    const auto warm_up = static_cast<size_t>((rank.warm_up_steps + rank.block_steps - 1) /
                                             std::max<int64_t>(rank.block_steps, 1));
    for (size_t block = warm_up; block < rank.blocks.size(); ++block) {
      part_ns += rank.blocks[block].all.part_ns[part];
      all_ns += rank.blocks[block].all.length_ns;
    }
  }
  return all_ns > 0 ? part_ns / all_ns : 0;
}

// How long the ranks together wait while one of them evaluates or saves. They may meet it steps
// later.
double waits_for_pause_ns(const RankRuns& ranks, size_t part) {
  double sum = 0, longest = 0;
  for (const RankRun& rank : ranks) longest = std::max(longest, rank.all.part_ns[part]);
  for (const RankRun& rank : ranks) sum += longest - rank.all.part_ns[part];
  return sum;
}

// By LogPart, then for what is no part: how long the ranks together wait for one that is late in
// it, now this one and now that one.
using Waits = std::array<double, kLogParts + 1>;

size_t place_of(const SlowStep& step) {
  return step.part ? static_cast<size_t>(*step.part) : kLogParts;
}

void add_waits_in_slow_steps(Waits& waits, const RankRuns& ranks,
                             const std::vector<SlowStep>& slow) {
  for (const SlowStep& cause : slow) {
    if (cause.part == LogPart::kCommunicationWait) continue;
    const auto late_ns =
        static_cast<double>(cause.part ? cause.part_excess_ns : cause.own_excess_ns);
    for (const RankRun& rank : ranks) {
      const auto same = std::ranges::lower_bound(rank.slow, cause.step, {}, &SlowStep::step);
      if (rank.rank == cause.rank || same == rank.slow.end() || same->step != cause.step) continue;
      waits[place_of(cause)] += std::min<double>(same->longer_ns[kWaitPart], late_ns);
    }
  }
}

// Of the usual steps of one block. The rank that waits least is the one that the others wait for.
// All wait for a slow network, so that is not counted, nor are further ranks that are late in the
// same block.
void add_waits_in_block(Waits& waits, const RankRuns& ranks, size_t block) {
  std::vector<StepSums> sums;
  for (const RankRun& rank : ranks) {
    if (block >= rank.blocks.size()) return;
    sums.push_back(rank.blocks[block].usual);
    if (sums.back().steps != sums.front().steps) return;
  }
  const StepSums& late = *std::ranges::min_element(
      sums, {}, [](const StepSums& each) { return each.part_ns[kWaitPart]; });
  for (const StepSums& each : sums) {
    double longer_wait_ns = each.part_ns[kWaitPart] - late.part_ns[kWaitPart];
    for (const LogPart part : {LogPart::kDataWait, LogPart::kGarbageCollection}) {
      const auto place = static_cast<size_t>(part);
      const double late_ns = std::max(0.0, late.part_ns[place] - each.part_ns[place]);
      waits[place] += std::min(longer_wait_ns, late_ns);
      longer_wait_ns -= std::min(longer_wait_ns, late_ns);
    }
  }
}

Waits waits_of(const RankRuns& ranks, const std::vector<SlowStep>& slow) {
  Waits waits{};
  if (!all_see(ranks, LogPart::kCommunicationWait)) return waits;
  add_waits_in_slow_steps(waits, ranks, slow);
  for (size_t block = 0; block < ranks.front().blocks.size(); ++block) {
    add_waits_in_block(waits, ranks, block);
  }
  return waits;
}

// The mean share of waiting for other ranks, with and without what their own work explains.
struct CommunicationShares {
  double all = 0;
  double unexplained = 0;
};

CommunicationShares communication_of(const RankRuns& ranks, Waits waits) {
  for (const LogPart pause : kPauseParts) {
    double& own = waits[static_cast<size_t>(pause)];
    own = std::max(own, waits_for_pause_ns(ranks, static_cast<size_t>(pause)));
  }
  double sum_ns = 0;
  for (const RankRun& rank : ranks) sum_ns += rank.all.part_ns[kWaitPart];
  const double explained_ns = std::accumulate(waits.begin(), waits.end(), 0.0);
  return {sum_ns / total_ns(ranks), std::max(0.0, sum_ns - explained_ns) / total_ns(ranks)};
}

struct Stalls {
  std::vector<int64_t> steps;
  double lost_ns = 0;
  std::set<int> ranks;
  PartTimes longer_ns{};
};

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

/// The part of the run that `stalls` lost, as if it were the loss of each rank. Minutes to which
/// steps are joined hide their stalls, so they do not count.
double stalled_share(const RankRuns& ranks, const Stalls& stalls) {
  double single_ns = 0;
  for (const RankRun& rank : ranks) single_ns += rank.single_ns;
  return single_ns <= 0 ? 0 : stalls.lost_ns / (single_ns / static_cast<double>(ranks.size()));
}

void tell_stalls(RunFinding& finding, const Stalls& stalls, size_t rank_count) {
  finding.count = std::ssize(stalls.steps);
  finding.period = period_of(stalls.steps);
  finding.typical_ns = stalls.lost_ns / static_cast<double>(finding.count);
  if (stalls.ranks.size() == 1 && rank_count > 1) {
    finding.ranks.assign(stalls.ranks.begin(), stalls.ranks.end());
  }
}

/// Slow steps that no part explains by itself.
std::optional<RunFinding> find_unexplained_stalls(const RankRuns& ranks, const Stalls& stalls) {
  const double stalled = stalled_share(ranks, stalls);
  if (stalled < kLeastStalled) return std::nullopt;
  RunFinding finding;
  finding.cause = RunCause::kSlowSteps;
  finding.lost_share = std::min(1.0, stalled);
  tell_stalls(finding, stalls, ranks.size());
  const PartTimes& longer = stalls.longer_ns;
  if (std::accumulate(longer.begin(), longer.end(), 0.0) > stalls.lost_ns / 2) {
    finding.longer_ns = longer;
    for (double& part_ns : *finding.longer_ns) part_ns /= static_cast<double>(finding.count);
  }
  return finding;
}

/// The rank with the largest share of its time in `part`, and that share.
std::pair<const RankRun*, double> longest_in(const RankRuns& ranks, size_t part) {
  std::pair<const RankRun*, double> longest = {&ranks.front(), 0};
  for (const RankRun& rank : ranks) {
    const double own = rank.all.part_ns[part] / std::max(rank.all.length_ns, 1.0);
    if (own > longest.second) longest = {&rank, own};
  }
  return longest;
}

/// The ranks that wait for data for much longer than others do; empty if they are most.
std::vector<int> ranks_short_of_data(const RankRuns& ranks, double most) {
  constexpr auto kPart = static_cast<size_t>(LogPart::kDataWait);
  std::vector<int> numbers;
  for (const RankRun& rank : ranks) {
    if (rank.all.part_ns[kPart] > most / 2 * rank.all.length_ns) numbers.push_back(rank.rank);
  }
  if (2 * numbers.size() > ranks.size()) numbers.clear();
  return numbers;
}

/// The time that one part of the log takes, or what its slow steps lose.
std::optional<RunFinding> find_part_loss(const RankRuns& ranks, size_t part, const Stalls& stalls,
                                         const Waits& waits) {
  RunFinding finding;
  finding.part = static_cast<LogPart>(part);
  const auto [longest, most] = longest_in(ranks, part);
  double stalled = stalled_share(ranks, stalls);
  // If one rank saves or evaluates, the others wait, so the run loses the time of the rank that
  // takes longest. If ranks take turns, it loses the time of all.
  double share = most;
  if (finding.part == LogPart::kCommunicationWait) {
    const CommunicationShares mean = communication_of(ranks, waits);
    share = mean.unexplained;
    stalled *= mean.all > 0 ? mean.unexplained / mean.all : 1;
  } else {
    double with_waits_ns = waits[part];
    for (const RankRun& rank : ranks) with_waits_ns += rank.all.part_ns[part];
    share = std::max(share, with_waits_ns / total_ns(ranks));
  }
  constexpr double kLeastForTurns = 1.25;
  finding.takes_turns = share > kLeastForTurns * most;
  const bool is_work = kWorthy[part] > 1;
  // One long collection in a short run says nothing of an hour, nor does that of what the imports
  // made, in the warm-up.
  const bool is_single =
      finding.part == LogPart::kGarbageCollection &&
      ((stalls.steps.size() == 1 && stalled >= 0.5 * share) ||
       (stalls.steps.empty() &&
        later_share(ranks, part) + waits[part] / total_ns(ranks) < kWorthy[part]));
  const bool is_worthy = share >= kWorthy[part] && !is_single;
  const double least = is_work ? kLeastStalled : kWorthy[part];
  if (!is_worthy && (stalled < least || is_single)) return std::nullopt;
  finding.cause = is_work ? RunCause::kSlowSteps : RunCause::kPart;
  finding.lost_share = is_worthy ? share : std::min(1.0, stalled);
  finding.share = is_work ? 0 : finding.lost_share;
  if (finding.part == LogPart::kDataWait) {
    finding.at_epochs = longest->waits_at_epochs;
    if (longest->wait_ns < kHandOverNs && !finding.takes_turns)
      finding.short_wait_ns = longest->wait_ns;
    if (is_worthy && !finding.takes_turns) finding.ranks = ranks_short_of_data(ranks, most);
  }
  if (const Pauses& pauses = longest->pauses[part];
      is_worthy && !finding.takes_turns && pauses.count > 0) {
    finding.period = pauses.period;
    finding.typical_ns = pauses.sum_ns / static_cast<double>(pauses.count);
    finding.count = std::llround(longest->all.part_ns[part] / finding.typical_ns);
  } else if (stalled >= kLeastStalled / 4) {
    tell_stalls(finding, stalls, ranks.size());
  }
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

double total_ns(const RankRuns& ranks) {
  double sum = 0;
  for (const RankRun& rank : ranks) sum += rank.all.length_ns;
  return sum;
}

std::vector<RunFinding> find_part_losses(const RankRuns& ranks, const std::vector<SlowStep>& slow) {
  std::array<Stalls, kLogParts + 1> stalls;
  for (const SlowStep& step : slow) {
    Stalls& own = stalls[place_of(step)];
    own.steps.push_back(step.step);
    own.lost_ns += static_cast<double>(step.part_excess_ns);
    own.ranks.insert(step.rank);
    for (size_t part = 0; part < kLogParts; ++part) own.longer_ns[part] += step.longer_ns[part];
  }
  const Waits waits = waits_of(ranks, slow);
  std::vector<RunFinding> findings;
  for (size_t part = 0; part < kLogParts; ++part) {
    if (static_cast<LogPart>(part) == LogPart::kCompile) continue;  // find_warm_up() looks at it
    if (auto finding = find_part_loss(ranks, part, stalls[part], waits)) {
      findings.push_back(*finding);
    }
  }
  if (auto finding = find_unexplained_stalls(ranks, stalls[kLogParts])) {
    findings.push_back(*finding);
  }
  return findings;
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
  const RunSegment& segment = segments.back();
  std::vector<StepSums> sums;
  for (const RankRun& rank : ranks) {
    sums.push_back(usual_between(rank, segment.first_step, segment.end_step));
    if (sums.back().steps <= 0) return {};
  }
  std::vector<double> own;
  for (const StepSums& each : sums) own.push_back(own_ns(each));
  const double median = lower_median(own);  // of two ranks the faster is the usual one
  const auto slowest = static_cast<size_t>(std::ranges::max_element(own) - own.begin());
  const double excess = own[slowest] - median;
  const double step_ns = sums[slowest].length_ns / sums[slowest].steps;
  if (excess < kLeastUneven * step_ns) return {};
  // It must be behind the median rank in most blocks, not in a few.
  int blocks = 0, behind = 0;
  const RankRun& rank = ranks[slowest];
  for (size_t i = static_cast<size_t>(segment.first_step / rank.block_steps);
       i < rank.blocks.size(); ++i) {
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
  if (blocks < kFewestBlocks || behind * 10 < blocks * 8) return {};
  RunFinding finding;
  finding.cause = RunCause::kUnevenRank;
  finding.from_step = segment.first_step;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (own[i] - median > excess / 2) finding.ranks.push_back(ranks[i].rank);
  }
  finding.change = own[slowest] / median - 1;
  finding.typical_ns = excess;
  finding.lost_share =
      excess * sums[slowest].steps * static_cast<double>(ranks.size()) / total_ns(ranks);
  finding.part = longest_part(ranks, sums, slowest, excess);
  return {finding};
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
  if (finding.part && kWorthy[static_cast<size_t>(*finding.part)] <= 1) return {};
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

}  // namespace redline::trace
