// The time that parts of the log take, what slow steps lose, and what ranks wait for those late in
// it.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/statistics.h"
#include "trace/model/loader_workers.h"
#include "trace/run/causes.h"

namespace redline::trace {
namespace {

constexpr double kLeastStalled = 0.02;  // of the run's time, lost in slow steps
constexpr auto kWaitPart = static_cast<size_t>(LogPart::kCommunicationWait);

/// By LogPart, the share of the run's time from which on the part is worth a finding. Above 1 it
/// never is, because the part is the work itself.
constexpr std::array<double, kLogParts> kWorthy = {0.1, 2, 2, 2, 0.25, 0.15, 0.05, 0.03, 2, 0.1};

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
// same block, which waits_in_turns() counts.
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
    for (const LogPart part : kTurnParts) {
      const auto place = static_cast<size_t>(part);
      const double late_ns = std::max(0.0, late.part_ns[place] - each.part_ns[place]);
      waits[place] += std::min(longer_wait_ns, late_ns);
      longer_wait_ns -= std::min(longer_wait_ns, late_ns);
    }
  }
}

// A rank that is late itself waits less than else; where a network is slow, it waits as long. So
// this is the time by which waits are longer where others are late. Each of them waits no longer
// than that rank is late. `place` is one of RankRun::late.
double waits_in_turns(const RankRuns& ranks, size_t place) {
  double longer_ns = 0, late_ns = 0;
  for (const RankRun& rank : ranks) {
    longer_ns += rank.late[place].waits_less_ns;
    late_ns += rank.late[place].sum_ns;
  }
  return std::min(longer_ns, late_ns * static_cast<double>(ranks.size() - 1));
}

Waits waits_of(const RankRuns& ranks, const std::vector<SlowStep>& slow) {
  Waits waits{};
  if (!all_see(ranks, LogPart::kCommunicationWait)) return waits;
  for (size_t block = 0; block < ranks.front().blocks.size(); ++block) {
    add_waits_in_block(waits, ranks, block);
  }
  for (const LogPart part : kTurnParts) {
    const auto place = static_cast<size_t>(part);
    waits[place] = std::max(waits[place], waits_in_turns(ranks, place));
  }
  add_waits_in_slow_steps(waits, ranks, slow);
  return waits;
}

// The mean share of waiting for other ranks, with and without what parts of their work explain.
struct CommunicationShares {
  double all = 0;
  double unexplained = 0;
  double in_turns = 0;  ///< of the latter, that for ranks whose own work now and then takes longer
};

CommunicationShares communication_of(const RankRuns& ranks, Waits waits) {
  for (const LogPart pause : kPauseParts) {
    double& own = waits[static_cast<size_t>(pause)];
    own = std::max(own, waits_for_pause_ns(ranks, static_cast<size_t>(pause)));
  }
  double sum_ns = 0;
  for (const RankRun& rank : ranks) sum_ns += rank.all.part_ns[kWaitPart];
  const double explained_ns = std::accumulate(waits.begin(), waits.end(), 0.0);
  const double in_turns_ns = waits_in_turns(ranks, kLogParts);
  const double all_ns = total_ns(ranks);
  return {sum_ns / all_ns, std::max(0.0, sum_ns - explained_ns) / all_ns,
          std::max(0.0, in_turns_ns - explained_ns) / all_ns};
}

struct Stalls {
  std::vector<int64_t> steps;
  std::vector<double> excess_ns;  ///< by `steps`
  double lost_ns = 0;
  double net_ns = 0;     ///< of it, what the steps after them did not catch up
  size_t caught_up = 0;  ///< how many had steps after them that caught up some of it
  std::set<int> ranks;
  PartTimes longer_ns{};
};

/// The part of the run that stalls lost, as if it were the loss of each rank. Minutes to which
/// steps are joined hide their stalls, so they do not count.
double stalled_share(const RankRuns& ranks, double lost_ns) {
  double single_ns = 0;
  for (const RankRun& rank : ranks) single_ns += rank.single_ns;
  return single_ns <= 0 ? 0 : lost_ns / (single_ns / static_cast<double>(ranks.size()));
}

void tell_stalls(RunFinding& finding, const Stalls& stalls, size_t rank_count) {
  finding.count = std::ssize(stalls.steps);
  finding.period = period_of(stalls.steps);
  finding.typical_ns = stalls.lost_ns / static_cast<double>(finding.count);
  if (stalls.ranks.size() == 1 && rank_count > 1) {
    finding.ranks.assign(stalls.ranks.begin(), stalls.ranks.end());
  }
}

double relative_spread(const std::vector<double>& values) {
  return (quantile_of(values, 0.9) - quantile_of(values, 0.1)) / quantile_of(values, 0.5);
}

/// Whether most of the stalls' time is longer than the work of all the steps that a host can have
/// queued: CUDA's queue takes about a thousand launches, and a step whose backward pass the host
/// runs has more than a few. One that a CUDA graph replays may be a single launch.
bool is_beyond_any_queue(const RankRuns& ranks, const Stalls& stalls) {
  constexpr double kMostQueuedSteps = 256;
  constexpr double kLeastBackward = 0.1;  // of the step, or it is replayed
  const RankRun& rank = lasting_rank(ranks);
  const StepSums usual = usual_between(rank, 0, rank.end_step);
  if (usual.steps <= 0) return false;
  const double step_ns = usual.length_ns / usual.steps;
  if (usual.mean_ns(LogPart::kBackward) < kLeastBackward * step_ns) return false;
  double beyond_ns = 0;
  int64_t last = rank.first_step - 1;
  for (size_t i = 0; i < stalls.steps.size(); ++i) {
    const auto gap = static_cast<double>(stalls.steps[i] - last);
    last = stalls.steps[i];
    // The host's steps are shorter than their work where that is waited for later.
    const double work_ns = step_ns + stalls.excess_ns[i] / gap;
    if (stalls.excess_ns[i] > kMostQueuedSteps * work_ns) beyond_ns += stalls.excess_ns[i];
  }
  return beyond_ns > stalls.lost_ns / 2;
}

/// Whether these steps, which are no pauses, may be long because the host waited for work that it
/// had queued on a GPU, as .item() does. The steps before are then shorter than their work, and
/// nothing need be lost. Such a wait grows with the steps since the last one; a stall does not.
bool may_wait_for_queued_work(const RankRuns& ranks, const Stalls& stalls) {
  const auto has_gpu = [](const RankRun& rank) { return rank.most_device_bytes > 0; };
  if (std::ranges::none_of(ranks, has_gpu)) return false;
  // Steps that catch up fill the queue again. So it is full else, and the host waits in each step.
  if (2 * stalls.caught_up > stalls.steps.size()) return false;
  if (is_beyond_any_queue(ranks, stalls)) return false;
  constexpr size_t kFewest = 8;
  constexpr double kAlike = 0.01;  // where they come regularly, no spread tells
  if (stalls.steps.size() <= kFewest) return true;
  std::vector<double> waits, waits_of_a_step;
  for (size_t i = 1; i < stalls.steps.size(); ++i) {
    const auto gap = static_cast<double>(stalls.steps[i] - stalls.steps[i - 1]);
    waits.push_back(stalls.excess_ns[i]);
    waits_of_a_step.push_back(stalls.excess_ns[i] / gap);
  }
  return relative_spread(waits_of_a_step) <= relative_spread(waits) + kAlike;
}

/// Slow steps that no part explains by itself.
std::optional<RunFinding> find_unexplained_stalls(const RankRuns& ranks, const Stalls& stalls) {
  const double stalled = stalled_share(ranks, stalls.net_ns);
  if (stalled < kLeastStalled) return std::nullopt;
  RunFinding finding;
  finding.cause = RunCause::kSlowSteps;
  finding.lost_share = std::min(1.0, stalled);
  tell_stalls(finding, stalls, ranks.size());
  finding.is_single = finding.count == 1;
  finding.may_be_queued = may_wait_for_queued_work(ranks, stalls);
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
  const bool works = is_work(*finding.part);
  double stalled = stalled_share(ranks, works ? stalls.net_ns : stalls.lost_ns);
  // If one rank saves or evaluates, the others wait, so the run loses the time of the rank that
  // takes longest. If ranks take turns, it loses the time of all.
  double share = most;
  if (finding.part == LogPart::kCommunicationWait) {
    const CommunicationShares mean = communication_of(ranks, waits);
    share = mean.unexplained;
    finding.takes_turns = mean.in_turns > mean.unexplained / 2;
    stalled *= mean.all > 0 ? mean.unexplained / mean.all : 1;
  } else {
    double with_waits_ns = waits[part];
    for (const RankRun& rank : ranks) with_waits_ns += rank.all.part_ns[part];
    share = std::max(share, with_waits_ns / total_ns(ranks));
    constexpr double kLeastForTurns = 1.25;
    finding.takes_turns = share > kLeastForTurns * most;
  }
  // One long collection in a short run says nothing, nor does that of what the imports made, in the
  // warm-up.
  const bool is_one_stall = stalls.steps.size() == 1 && stalled >= 0.5 * share;
  const bool is_one_collection =
      finding.part == LogPart::kGarbageCollection &&
      (is_one_stall || (stalls.steps.empty() &&
                        later_share(ranks, part) + waits[part] / total_ns(ranks) < kWorthy[part]));
  const bool is_worthy = share >= kWorthy[part] && !is_one_collection;
  const double least = works ? kLeastStalled : kWorthy[part];
  if (!is_worthy && (stalled < least || is_one_collection)) return std::nullopt;
  finding.cause = works ? RunCause::kSlowSteps : RunCause::kPart;
  finding.lost_share = is_worthy ? share : std::min(1.0, stalled);
  finding.share = works ? 0 : finding.lost_share;
  finding.may_be_queued = works && may_wait_for_queued_work(ranks, stalls);
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
    finding.is_single = finding.count == 1;
  } else if (stalled >= kLeastStalled / 4) {
    tell_stalls(finding, stalls, ranks.size());
    finding.is_single = is_one_stall || (works && finding.count == 1);
  }
  return finding;
}

}  // namespace

bool is_work(LogPart part) { return kWorthy[static_cast<size_t>(part)] > 1; }

std::optional<double> common_wait_share(const RankRuns& ranks) {
  double sum_ns = 0;
  for (size_t block = 0; block < lasting_rank(ranks).blocks.size(); ++block) {
    double least_ns = std::numeric_limits<double>::infinity(), steps = 0;
    for (const RankRun& rank : ranks) {
      if (block >= rank.blocks.size() || rank.blocks[block].usual.steps <= 0) continue;
      const StepSums& usual = rank.blocks[block].usual;
      least_ns = std::min(least_ns, usual.mean_ns(LogPart::kCommunicationWait));
      steps += usual.steps;
    }
    if (steps > 0) sum_ns += least_ns * steps;
  }
  const double share = sum_ns / total_ns(ranks);
  return share >= kWorthy[kWaitPart] ? std::optional(share) : std::nullopt;
}

std::vector<RunFinding> find_part_losses(const RankRuns& ranks, const std::vector<SlowStep>& slow) {
  std::array<Stalls, kLogParts + 1> stalls;
  for (const SlowStep& step : slow) {
    Stalls& own = stalls[place_of(step)];
    own.steps.push_back(step.step);
    own.excess_ns.push_back(static_cast<double>(step.part_excess_ns));
    own.lost_ns += own.excess_ns.back();
    own.caught_up += step.caught_up_ns > 0 ? 1 : 0;
    own.net_ns += std::max(0.0, own.excess_ns.back() - static_cast<double>(step.caught_up_ns));
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

}  // namespace redline::trace
