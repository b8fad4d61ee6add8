// Who had the cores: other processes, or more threads of the job than there are cores. Without a
// core a step takes longer in whatever part it is, so this also explains what other searches find.
#include <algorithm>
#include <limits>
#include <map>

#include "trace/run/causes.h"

namespace redline::trace {
namespace {

constexpr double kLeastLostToOthers = 0.1;  // of the run's time
constexpr double kBusyCores = 0.8;  // the share of busy cores from which on threads wait for one
constexpr double kFullCores = 0.9;  // the job's threads for each, from which on one more gets none
constexpr double kCrowded = 1.5;    // threads of the job for each core
constexpr double kMostOwn = 1.05;   // cores that ranks had for each, or they do not share them
constexpr double kExplained = 0.5;  // of what is to be explained
constexpr double kLeastOthers = 0.25;  // cores
constexpr int64_t kLeastTimeNs = 1'000'000'000;
constexpr int64_t kReadingSlackNs = 100'000'000;  // a core, by which readings of one counter differ

struct Counters {
  double busy_ns = 0;
  double used_ns = 0;
  double waited_ns = 0;
};

Counters counters_at(const std::vector<LoggedCores>& all, int64_t time_ns) {
  const auto counters_of = [](const LoggedCores& each) {
    return Counters{static_cast<double>(each.busy_ns), static_cast<double>(each.used_ns),
                    static_cast<double>(each.waited_ns)};
  };
  const auto after = std::ranges::find_if(
      all, [time_ns](const LoggedCores& each) { return each.time_ns >= time_ns; });
  if (after == all.end()) return counters_of(all.back());
  if (after == all.begin() || after->time_ns == time_ns) return counters_of(*after);
  const Counters from = counters_of(*std::prev(after)), to = counters_of(*after);
  const double share = static_cast<double>(time_ns - std::prev(after)->time_ns) /
                       static_cast<double>(after->time_ns - std::prev(after)->time_ns);
  const auto between = [share](double left, double right) { return left + share * (right - left); };
  return {between(from.busy_ns, to.busy_ns), between(from.used_ns, to.used_ns),
          between(from.waited_ns, to.waited_ns)};
}

/// The cores and threads of ranks that share cores, as means over a while.
struct HostCores {
  double cores = 0;
  double own = 0;      // cores that the job had
  double others = 0;   // cores that other processes had
  double threads = 0;  // of the job, which had a core or waited for one
  double waiting = 0;  // of them, those of the rank that waited most for a core
};

using Members = std::vector<const RankRun*>;

/// The counter of busy cores at `time_ns`: it only grows from one reading to the next.
struct BusyRange {
  int64_t least_ns = 0;
  int64_t most_ns = 0;
};

BusyRange busy_around(const std::vector<LoggedCores>& all, int64_t time_ns) {
  const auto after = std::ranges::lower_bound(all, time_ns, {}, &LoggedCores::time_ns);
  const auto before = after->time_ns == time_ns ? after : std::prev(after);
  return {before->busy_ns, after->busy_ns};
}

// Whether two ranks of a host may use the same cores, as far as the logs know. Launchers give ranks
// cores of their own (srun --cpu-bind, mpirun --bind-to). Then each reads the counters of other
// cores.
bool share_cores(const RankRun& left, const RankRun& right) {
  if (left.cores.size() < 2 || right.cores.size() < 2) return true;
  const int64_t cores = left.cores.back().cores;
  if (right.cores.back().cores != cores) return false;
  const int64_t time_ns = std::min(left.cores.back().time_ns, right.cores.back().time_ns);
  if (time_ns <= std::max(left.cores.front().time_ns, right.cores.front().time_ns)) return true;
  const BusyRange one = busy_around(left.cores, time_ns), other = busy_around(right.cores, time_ns);
  const int64_t slack = cores * kReadingSlackNs;
  return one.least_ns <= other.most_ns + slack && other.least_ns <= one.most_ns + slack;
}

bool holds_rank(const Members& members, int number) {
  return std::ranges::any_of(members,
                             [number](const RankRun* rank) { return rank->rank == number; });
}

// nullopt if the logs do not know.
std::optional<HostCores> cores_between(const Members& members, int64_t from_ns, int64_t to_ns) {
  HostCores host;
  for (const RankRun* rank : members) {
    if (rank->cores.size() < 2) return std::nullopt;
    const int64_t from = std::max(from_ns, rank->cores.front().time_ns);
    const int64_t to = std::min(to_ns, rank->cores.back().time_ns);
    if (to - from < kLeastTimeNs || 2 * (to - from) < to_ns - from_ns) return std::nullopt;
    const Counters before = counters_at(rank->cores, from), after = counters_at(rank->cores, to);
    const double time = static_cast<double>(to - from);
    const double own = (after.used_ns - before.used_ns) / time;
    const double waiting = (after.waited_ns - before.waited_ns) / time;
    host.cores = static_cast<double>(rank->cores.back().cores);
    host.own += own;
    host.threads += own + waiting;
    host.waiting = std::max(host.waiting, waiting);
    // All see the same busy cores, but not over quite the same time.
    host.others = std::max(host.others, (after.busy_ns - before.busy_ns) / time);
  }
  host.others = std::max(0.0, host.others - host.own);
  return host;
}

// The ranks of each host that share cores.
std::vector<Members> sharing_cores(const RankRuns& ranks) {
  std::map<std::string, std::vector<Members>> hosts;
  for (const RankRun& rank : ranks) {
    std::vector<Members>& sets = hosts[rank.host];
    const auto same = std::ranges::find_if(
        sets, [&](const Members& members) { return share_cores(*members.front(), rank); });
    if (same == sets.end()) {
      sets.push_back({&rank});
    } else {
      same->push_back(&rank);
    }
  }
  std::vector<Members> all;
  for (const auto& [host, sets] : hosts) {
    for (const Members& members : sets) {
      const RankRun& clock = *members.front();
      const auto use = cores_between(members, clock.begin_ns, clock.end_ns);
      if (use && use->own > kMostOwn * use->cores) {
        for (const RankRun* rank : members) all.push_back({rank});
      } else {
        all.push_back(members);
      }
    }
  }
  return all;
}

// The share of the time that the job can have lost to other processes: it waited no longer, and
// with all cores it would have been no faster than by what the others had.
double lost_to_others(const HostCores& host) {
  const double busy = host.own + host.others;
  if (host.others < kLeastOthers || busy < kBusyCores * host.cores) return 0;
  return std::min({1.0, host.waiting, host.others / busy});
}

int64_t time_of_step(const RankRun& rank, int64_t step) {
  for (auto block = static_cast<size_t>(step / rank.block_steps); block < rank.blocks.size();
       ++block) {
    if (rank.blocks[block].begin_ns != 0) return rank.blocks[block].begin_ns;
  }
  return rank.end_ns;
}

// Whether others had more of the cores while the steps were slower, so that at least half of the
// change is theirs. What follows a slow begin may be too short to know.
std::optional<bool> was_slowed_by_others(const RankRuns& ranks, const RunFinding& finding,
                                         const std::vector<RunSegment>& segments) {
  RunSegment fast, slow;
  if (finding.is_slow_begin()) {
    slow.end_step = fast.first_step = *finding.to_step;
    fast.end_step = segments.back().end_step;
  } else {
    const auto first = std::ranges::find(segments, finding.from_step, &RunSegment::first_step);
    const auto after = std::ranges::find(segments, finding.risen_step, &RunSegment::first_step);
    if (first == segments.begin() || after == segments.end()) return std::nullopt;
    fast = *std::prev(first);
    slow = *after;
  }
  const RankRun& clock = ranks.front();
  const auto shares_of = [&](const Members& members, const RunSegment& segment) {
    return cores_between(members, time_of_step(clock, segment.first_step),
                         time_of_step(clock, segment.end_step));
  };
  std::optional<bool> explained;
  for (const Members& members : sharing_cores(ranks)) {
    const auto was = shares_of(members, fast), is = shares_of(members, slow);
    if (!is || (!was && !finding.is_slow_begin())) continue;
    const double kept = (1 - lost_to_others(*is)) / (1 - (was ? lost_to_others(*was) : 0));
    explained =
        explained.value_or(false) || 1 - kept >= kExplained * finding.change / (1 + finding.change);
  }
  return explained;
}

// Whether the threads waited for a core while others had it, around the finding's slow steps.
// Readings are seconds apart, so what is usual in such a time does not count.
std::optional<bool> were_stalled_by_others(const RankRuns& ranks, const RunFinding& finding,
                                           const std::vector<SlowStep>& slow) {
  double waited_ns = 0, excess_ns = 0, others_ns = 0, time_ns = 0;
  for (const Members& members : sharing_cores(ranks)) {
    const RankRun& clock = *members.front();
    const auto usual = cores_between(members, clock.begin_ns, clock.end_ns);
    if (!usual) continue;
    int64_t counted_ns = 0;
    for (const SlowStep& step : slow) {
      if (step.part != finding.part || !holds_rank(members, step.rank)) continue;
      excess_ns += static_cast<double>(step.excess_ns);
      int64_t from = std::max(counted_ns, clock.cores.front().time_ns);
      int64_t to = clock.cores.back().time_ns;
      for (const LoggedCores& each : clock.cores) {
        if (each.time_ns <= step.begin_ns) from = std::max(from, each.time_ns);
        if (each.time_ns >= step.begin_ns + step.length_ns) to = std::min(to, each.time_ns);
      }
      const auto then = cores_between(members, from, to);
      if (!then) continue;
      counted_ns = to;
      const double time = static_cast<double>(to - from);
      waited_ns += std::max(0.0, then->waiting - usual->waiting) * time;
      others_ns += then->others * time;
      time_ns += time;
    }
  }
  if (time_ns <= 0) return std::nullopt;
  return waited_ns >= kExplained * excess_ns && others_ns >= kLeastOthers * time_ns;
}

// Whether a rank is behind because its threads wait longer for a core than those of the others. A
// rank with more work also waits longer, but has the cores for longer, too.
std::optional<bool> is_behind_for_cores(const RankRuns& ranks, const RunFinding& finding) {
  HostCores own;
  double least_waiting = std::numeric_limits<double>::infinity(), least_used = least_waiting;
  for (const RankRun& rank : ranks) {
    const auto shares = cores_between({&rank}, time_of_step(rank, finding.from_step), rank.end_ns);
    if (!shares) return std::nullopt;
    least_waiting = std::min(least_waiting, shares->waiting);
    least_used = std::min(least_used, shares->own);
    if (rank.rank == finding.ranks.front()) own = *shares;
  }
  constexpr double kMoreWork = 1.25;
  return own.waiting - least_waiting >= kExplained * finding.lost_share &&
         own.own < kMoreWork * least_used;
}

// Whether the first steps took longer because others had the cores.
std::optional<bool> was_begun_among_others(const RankRuns& ranks, const RunFinding& finding) {
  std::optional<bool> explained;
  for (const Members& members : sharing_cores(ranks)) {
    const RankRun& clock = *members.front();
    const int64_t begin_ns = time_of_step(clock, clock.first_step);
    const int64_t end_ns = time_of_step(clock, finding.count);
    const auto shares = cores_between(members, begin_ns, end_ns);
    if (!shares) continue;
    const double excess = finding.typical_ns / static_cast<double>(end_ns - begin_ns);
    explained = explained.value_or(false) || lost_to_others(*shares) >= kExplained * excess;
  }
  return explained;
}

// Whether the job's own threads had or wanted nearly all cores where the finding's ranks ran, in
// the steps that it is about. What other processes have is not counted: a new worker of the job
// would get its share of that.
bool has_no_free_core(const RankRuns& ranks, const RunFinding& finding) {
  for (const Members& members : sharing_cores(ranks)) {
    const auto is_there = [&](int rank) { return holds_rank(members, rank); };
    if (!finding.ranks.empty() && std::ranges::none_of(finding.ranks, is_there)) continue;
    const RankRun& clock = *members.front();
    const int64_t begin_ns = time_of_step(clock, std::max(clock.warm_up_steps, finding.risen_step));
    const int64_t end_ns = finding.to_step ? time_of_step(clock, *finding.to_step) : clock.end_ns;
    const auto use = cores_between(members, begin_ns, end_ns);
    if (!use || use->threads < kFullCores * use->cores) return false;
  }
  return true;
}

// Names the ranks that have these cores, unless all ranks of their host have them.
void name_owners(RunFinding& finding, const Members& members, const RankRuns& ranks) {
  std::vector<int> numbers;
  for (const RankRun* rank : members) numbers.push_back(rank->rank);
  finding.host = host_of(ranks, numbers);
  const auto on_host = std::ranges::count(ranks, members.front()->host, &RankRun::host);
  finding.ranks = std::ssize(members) < on_host ? std::move(numbers) : std::vector<int>();
}

}  // namespace

std::vector<RunFinding> find_lack_of_cores(const RankRuns& ranks) {
  // Of ranks without a log nobody knows whether the other processes are theirs.
  if (std::ssize(ranks) < ranks.front().world_size) return {};
  RunFinding others, crowded;
  others.cause = RunCause::kOtherProcesses;
  crowded.cause = RunCause::kCrowdedCores;
  double most_crowded = kCrowded;
  for (const Members& members : sharing_cores(ranks)) {
    const RankRun& clock = *members.front();
    const auto host =
        cores_between(members, time_of_step(clock, clock.warm_up_steps), clock.end_ns);
    if (!host) continue;
    if (const double lost = lost_to_others(*host); lost > others.lost_share) {
      others.lost_share = lost;
      others.taken_cores = host->others;
      others.cores = host->cores;
      name_owners(others, members, ranks);
    }
    if (host->own >= kBusyCores * host->cores && host->threads > most_crowded * host->cores) {
      most_crowded = host->threads / host->cores;
      crowded.taken_cores = host->threads;
      crowded.cores = host->cores;
      name_owners(crowded, members, ranks);
    }
  }
  std::vector<RunFinding> findings;
  if (others.lost_share >= kLeastLostToOthers) findings.push_back(others);
  if (crowded.cores > 0) findings.push_back(crowded);
  return findings;
}

void explain_by_cores(std::vector<RunFinding>& findings, const RankRuns& ranks,
                      const std::vector<RunSegment>& segments, const std::vector<SlowStep>& slow) {
  if (std::ssize(ranks) < ranks.front().world_size) return;
  double lost = 0;
  bool is_crowded = false;
  for (const RunFinding& finding : findings) {
    if (finding.cause == RunCause::kOtherProcesses) lost = finding.lost_share;
    is_crowded = is_crowded || finding.cause == RunCause::kCrowdedCores;
  }
  for (RunFinding& finding : findings) {
    finding.no_free_core = finding.part == LogPart::kDataWait && has_no_free_core(ranks, finding);
    if (finding.cause == RunCause::kSlower) {
      finding.by_others = was_slowed_by_others(ranks, finding, segments);
    } else if (finding.cause == RunCause::kSlowSteps) {
      finding.by_others = were_stalled_by_others(ranks, finding, slow);
    } else if (finding.cause == RunCause::kUnevenRank) {
      finding.by_others = is_behind_for_cores(ranks, finding);
    } else if (finding.cause == RunCause::kWarmUp) {
      finding.by_others = was_begun_among_others(ranks, finding);
    }
  }
  // What varies because cores are missing has been told, and so have waits for ranks without one.
  std::erase_if(findings, [&](const RunFinding& finding) {
    if (finding.cause == RunCause::kUnsteady) return lost > 0 || is_crowded;
    if (finding.cause == RunCause::kWarmUp) return lost > 0 && finding.by_others.value_or(false);
    // Where the fast steps before were too few to know who had the cores then.
    if (finding.cause == RunCause::kSlower && finding.is_whole_step && !finding.by_others) {
      return lost > 0 && lost >= kExplained * finding.lost_share;
    }
    const bool waits =
        finding.cause == RunCause::kPart && finding.part == LogPart::kCommunicationWait;
    return waits && (is_crowded || lost >= kExplained * finding.lost_share);
  });
}

}  // namespace redline::trace
