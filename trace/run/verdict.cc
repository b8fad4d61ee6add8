#include "trace/run/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "base/sample_shares.h"
#include "base/statistics.h"
#include "trace/run/causes.h"
#include "trace/run/run_figures.h"
#include "trace/run/runs.h"

namespace redline::trace {
namespace {

constexpr size_t kWorstSlow = 16;

// A folder may have the logs of several runs. Keeps those of the job that has logs of `run`, or if
// that is empty, of the latest one.
void keep_job(RankRuns& ranks, const std::string& run, RunVerdict& verdict) {
  const size_t all = ranks.size();
  std::vector<RankRuns> runs = runs_of(std::move(ranks));
  const auto is_asked = [&](const RankRuns& each) {
    return std::ranges::find(each, run, &RankRun::run) != each.end();
  };
  const auto job = run.empty() ? std::prev(runs.end()) : std::ranges::find_if(runs, is_asked);
  ranks = job == runs.end() ? RankRuns() : std::move(*job);
  verdict.is_latest = job != runs.end() && std::next(job) == runs.end();
  verdict.earlier_logs = static_cast<int64_t>(all - ranks.size());
}

// Whether a rank may wait for others in this part, or in what is no part.
bool may_hold_a_wait(std::optional<LogPart> part) {
  constexpr std::array kOwnAlone = {LogPart::kDataWait,   LogPart::kEvaluation,
                                    LogPart::kCheckpoint, LogPart::kGarbageCollection,
                                    LogPart::kCompile,    LogPart::kHandOver};
  return !part || std::ranges::find(kOwnAlone, *part) == kOwnAlone.end();
}

// The slow steps, each once. A step that is slow on several ranks was slowed by the rank with the
// most excess of its own. Where ranks do not see their waits (on GPUs), all of them have as much:
// then by one whose excess is surely its own.
std::vector<SlowStep> slow_of(const RankRuns& ranks) {
  struct Suspect {
    SlowStep step;
    bool is_sure = false;
  };
  const auto is_likelier = [](const Suspect& left, const Suspect& right) {
    return std::pair(left.is_sure, left.step.own_excess_ns) >
           std::pair(right.is_sure, right.step.own_excess_ns);
  };
  std::map<int64_t, Suspect> by_step;
  for (const RankRun& rank : ranks) {
    const bool sees_waits = rank.sees_part(LogPart::kCommunicationWait);
    for (const SlowStep& step : rank.slow) {
      const Suspect suspect{step, !sees_waits && !may_hold_a_wait(step.part)};
      const auto [place, is_new] = by_step.try_emplace(step.step, suspect);
      if (!is_new && is_likelier(suspect, place->second)) place->second = suspect;
    }
  }
  std::vector<SlowStep> slow;
  for (const auto& [number, suspect] : by_step) slow.push_back(suspect.step);
  return slow;
}

RankRow row_of(const RankRun& rank, int64_t now_ns) {
  const StepSums usual = usual_between(rank, 0, rank.end_step);
  RankRow row;
  row.rank = rank.rank;
  row.host = rank.host;
  row.steps = std::llround(rank.all.steps);
  if (usual.steps > 0) {
    row.step_ns = usual.length_ns / usual.steps;
    if (rank.sees_part(LogPart::kCommunicationWait)) {
      row.own_ns = row.step_ns - usual.mean_ns(LogPart::kCommunicationWait);
    }
  }
  if (rank.sees_part(LogPart::kDataWait)) {
    row.wait_share = rank.all.part_ns[static_cast<size_t>(LogPart::kDataWait)] / rank.all.length_ns;
  }
  if (!rank.ended) row.age_ns = std::max<int64_t>(0, rank.silence_ns(now_ns));
  if (!rank.memory.empty()) row.memory_bytes = rank.memory.back().used_bytes();
  return row;
}

void write_rates(RunVerdict& verdict, const RankRuns& ranks) {
  const RankRun& lasting = lasting_rank(ranks);
  const std::vector<double> shares = counted_shares(ranks);
  verdict.shares_samples = std::ranges::any_of(shares, [](double share) { return share < 1; });
  double samples = 0, tokens = 0, seconds = 0;
  bool sees_samples = true, sees_tokens = true;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const RankRun& rank = ranks[r];
    // Steps that could not be written were like the others.
    const double scale = 1 + static_cast<double>(rank.lost_steps) / rank.all.steps;
    seconds = std::max(seconds, scale * rank.all.length_ns * 1e-9);
    samples += scale * shares[r] * rank.all.samples;
    tokens += scale * shares[r] * rank.all.tokens;
    sees_samples = sees_samples && rank.sees_samples;
    sees_tokens = sees_tokens && rank.sees_tokens;
  }
  verdict.steps_per_s = lasting.all.steps / (lasting.all.length_ns * 1e-9);
  if (sees_samples) verdict.samples_per_s = samples / seconds;
  if (sees_tokens && tokens > 0) verdict.tokens_per_s = tokens / seconds;
  std::vector<double> rates;
  for (size_t i = 0; i < lasting.blocks.size(); ++i) {
    const RunBlock& block = lasting.blocks[i];
    if (block.all.steps <= 0 || block.all.length_ns <= 0) continue;
    RunPoint point;
    point.time_ns = block.begin_ns;
    point.step = static_cast<int64_t>(i) * lasting.block_steps;
    point.steps_per_s = block.all.steps / (block.all.length_ns * 1e-9);
    if (sees_samples) {
      point.samples_per_s = 0;
      for (size_t r = 0; r < ranks.size(); ++r) {
        const std::vector<RunBlock>& blocks = ranks[r].blocks;
        if (i >= blocks.size() || blocks[i].all.length_ns <= 0) continue;
        *point.samples_per_s +=
            shares[r] * blocks[i].all.samples / (blocks[i].all.length_ns * 1e-9);
      }
    }
    if (point.step >= lasting.warm_up_steps) rates.push_back(point.steps_per_s);
    verdict.points.push_back(point);
  }
  constexpr size_t kFewestRates = 10;  // a tenth of fewer is none
  if (rates.size() < kFewestRates) return;
  verdict.low_steps_per_s = quantile_of(rates, 0.1);
  verdict.high_steps_per_s = quantile_of(rates, 0.9);
}

void write_parts(RunVerdict& verdict, const RankRuns& ranks) {
  verdict.other_share = 1;
  const double all_ns = total_ns(ranks);
  for (size_t part = 0; part < kLogParts; ++part) {
    double sum = 0;
    bool is_seen = false;
    for (const RankRun& rank : ranks) {
      sum += rank.all.part_ns[part];
      is_seen = is_seen || rank.sees[part];
    }
    if (!is_seen) continue;
    verdict.part_share[part] = sum / all_ns;
    verdict.other_share -= sum / all_ns;
  }
  verdict.other_share = std::max(0.0, verdict.other_share);
}

// Whether the run is so short that its parts say nothing of a longer one.
bool is_a_start(const RankRuns& ranks) {
  constexpr double kLongNs = 60e9;
  return std::ranges::all_of(ranks, [](const RankRun& rank) {
    return rank.all.steps < kFewestRunSteps && rank.all.length_ns < kLongNs;
  });
}

void append(std::vector<RunFinding>& to, const std::vector<RunFinding>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

bool names_same_ranks(const RunFinding& left, const RunFinding& right) {
  return !left.ranks.empty() && left.ranks == right.ranks;
}

// Whether the run's becoming slow tells `finding`, too: a rank that became slow has been behind
// since then, a loader that became slow has taken a large share since then, and a run that was slow
// at first had a slow warm-up.
bool is_told_by_slower(const RunFinding& finding, const RunFinding& slower) {
  if (slower.cause != RunCause::kSlower || slower.lost_share < finding.lost_share / 2) return false;
  if (finding.cause == RunCause::kUnevenRank) return names_same_ranks(finding, slower);
  if (finding.cause == RunCause::kWarmUp) return slower.from_step == 0;
  return finding.cause == RunCause::kPart && finding.part == slower.part && finding.count == 0;
}

bool waits_for_ranks(const RunFinding& finding) {
  return finding.cause == RunCause::kPart && finding.part == LogPart::kCommunicationWait;
}

bool names_late_ranks(const RunFinding& finding) {
  return finding.cause == RunCause::kUnevenRank ||
         (finding.cause == RunCause::kSlower && !finding.ranks.empty());
}

// If a rank is behind, waiting for collectives is waiting for that rank, and the largest share of
// the part in which it is behind is its own.
bool is_told_by_uneven(const RunFinding& finding, const RunFinding& uneven) {
  if (waits_for_ranks(finding)) return names_late_ranks(uneven) && !finding.all_wait;
  return finding.cause == RunCause::kPart && uneven.cause == RunCause::kUnevenRank &&
         finding.part == uneven.part && finding.lost_share <= 1.5 * uneven.lost_share;
}

// Beside a rank that is late, only the waits count that the late one has, too, as for a slow
// network.
void keep_common_waits(std::vector<RunFinding>& findings, const RankRuns& ranks) {
  if (std::ranges::none_of(findings, names_late_ranks)) return;
  const auto waits = std::ranges::find_if(findings, waits_for_ranks);
  const auto common = common_wait_share(ranks);
  if (waits == findings.end() || !common) return;
  waits->all_wait = true;
  waits->takes_turns = false;
  waits->lost_share = waits->share = std::min(waits->lost_share, *common);
}

// As long as a run compiles in each step it is slower, also by what is no compiling but belongs to
// it.
bool is_told_by_compiling(const RunFinding& finding, const RunFinding& compiling) {
  return finding.cause == RunCause::kSlower && finding.part == LogPart::kCompile &&
         compiling.cause == RunCause::kPart && compiling.part == LogPart::kCompile &&
         finding.lost_share <= compiling.lost_share;
}

void drop_doubles(std::vector<RunFinding>& findings) {
  for (const auto is_told : {is_told_by_slower, is_told_by_uneven, is_told_by_compiling}) {
    const std::vector<RunFinding> all = findings;
    std::erase_if(findings, [&](const RunFinding& finding) {
      return std::ranges::any_of(all,
                                 [&](const RunFinding& other) { return is_told(finding, other); });
    });
  }
}

// The clocks of two hosts may differ. Ranks that make the same steps together need no longer than
// the longest of them. The clock is that of the rank whose blocks are the run's points.
void take_one_clock(RunVerdict& verdict, const RankRuns& ranks) {
  const RankRun& first = ranks.front();
  int64_t longest_ns = 0;
  bool has_two_hosts = false;
  for (const RankRun& rank : ranks) {
    const int64_t apart = std::abs(rank.end_step - first.end_step);
    if (rank.first_step != first.first_step || apart * 10 > first.end_step) return;
    longest_ns = std::max(longest_ns, rank.end_ns - rank.begin_ns);
    has_two_hosts = has_two_hosts || rank.host != first.host;
  }
  if (!has_two_hosts || verdict.end_ns - verdict.begin_ns <= longest_ns + longest_ns / 10) return;
  const RankRun& lasting = lasting_rank(ranks);
  verdict.begin_ns = lasting.begin_ns;
  verdict.end_ns = lasting.begin_ns + longest_ns;
  if (lasting.thinned_before_ns > 0) verdict.thinned_before_ns = lasting.thinned_before_ns;
}

void write_facts(RunVerdict& verdict, const RankRuns& ranks, int64_t now_ns) {
  const RankRun& first = ranks.front();
  verdict.run = first.run;
  verdict.begin_ns = first.begin_ns;
  const RankRun& lasting = lasting_rank(ranks);
  verdict.warm_up_steps = lasting.warm_up_steps;
  verdict.warm_up_lost_share = lasting.warm_up_lost_ns / lasting.all.length_ns;
  verdict.marks = lasting.marks;
  for (const RankRun& rank : ranks) {
    verdict.world_size = std::max(verdict.world_size, rank.world_size);
    verdict.begin_ns = std::min(verdict.begin_ns, rank.begin_ns);
    verdict.end_ns = std::max(verdict.end_ns, rank.end_ns);
    verdict.steps = std::max(verdict.steps, rank.end_step);
    verdict.lost_steps += rank.lost_steps;
    verdict.lost_marks += rank.lost_marks;
    verdict.thinned_before_ns = std::max(verdict.thinned_before_ns, rank.thinned_before_ns);
    verdict.thinned_before_step = std::max(verdict.thinned_before_step, rank.thinned_before_step);
    verdict.damaged_bytes += rank.damaged_bytes;
    verdict.ranks.push_back(row_of(rank, now_ns));
    verdict.is_interrupted = verdict.is_interrupted || rank.is_interrupted();
    verdict.is_running = verdict.is_running || (!rank.ended && !rank.is_silent(now_ns));
    if (rank.ended) {
      verdict.after_steps_ns = std::max(verdict.after_steps_ns, rank.last_sign_ns - rank.end_ns);
    }
  }
  take_one_clock(verdict, ranks);
}

// The most costly first; but what ended the run, or makes its figures wrong, comes before all.
void find_all(RunVerdict& verdict, const RankRuns& ranks, int64_t now_ns) {
  std::vector<RunFinding>& findings = verdict.findings;
  append(findings, find_slowdowns(ranks, verdict.segments));
  if (!verdict.has_too_few_steps) append(findings, find_part_losses(ranks, verdict.slow));
  append(findings, find_uneven_ranks(ranks, verdict.segments));
  append(findings, find_spread(ranks, verdict.segments));
  append(findings, find_memory_growth(ranks));
  if (!verdict.has_too_few_steps) append(findings, find_warm_up(ranks));
  keep_common_waits(findings, ranks);
  drop_doubles(findings);
  append(findings, find_lack_of_cores(ranks));
  explain_by_cores(findings, ranks, verdict.segments, verdict.slow);
  append(findings, find_same_samples(ranks));
  append(findings, find_ends(ranks, now_ns));
  for (RunFinding& finding : findings) {
    if (finding.host.empty()) finding.host = host_of(ranks, finding.ranks);
    const bool is_known = !finding.may_be_queued || finding.by_others.value_or(false);
    if (!is_known) finding.lost_share = 0;
  }
  const auto comes_first = [](const RunFinding& finding) {
    return finding.cause == RunCause::kDied || finding.cause == RunCause::kFailed ||
           finding.cause == RunCause::kSameSamples;
  };
  std::ranges::stable_sort(findings, std::greater(), [&](const RunFinding& finding) {
    return std::pair(comes_first(finding), finding.lost_share);
  });
}

}  // namespace

std::vector<double> counted_shares(const RankRuns& ranks) {
  std::vector<std::string> digests;
  for (const RankRun& rank : ranks) digests.push_back(rank.batches.counted_digest());
  return sample_shares(digests);
}

std::optional<RunVerdict> judge_run(RankRuns ranks, int64_t now_ns, const std::string& run) {
  std::erase_if(ranks, [](const RankRun& rank) { return rank.all.length_ns <= 0; });
  if (ranks.empty()) return std::nullopt;
  RunVerdict verdict;
  keep_job(ranks, run, verdict);
  if (ranks.empty()) return std::nullopt;
  int64_t block_steps = 1;
  for (const RankRun& rank : ranks) block_steps = std::max(block_steps, rank.block_steps);
  for (RankRun& rank : ranks) rank.coarsen(block_steps);

  write_facts(verdict, ranks, now_ns);
  write_rates(verdict, ranks);
  write_parts(verdict, ranks);
  verdict.segments = level_segments(ranks);
  verdict.slow = slow_of(ranks);
  verdict.has_too_few_steps = is_a_start(ranks);

  find_all(verdict, ranks, now_ns);
  std::ranges::stable_sort(verdict.slow, std::greater(), &SlowStep::excess_ns);
  verdict.slow.resize(std::min(kWorstSlow, verdict.slow.size()));
  return verdict;
}

}  // namespace redline::trace
