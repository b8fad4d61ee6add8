// Finds the levels of a run: when it became slower or faster, and in which part.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "trace/run/causes.h"
#include "trace/run/change_points.h"

namespace redline::trace {
namespace {

constexpr size_t kLeastBlocks = 5;  // in a segment
constexpr size_t kMostStairs = 10;  // of a creep
constexpr size_t kLeastCreep = 4;   // it takes at least a fourth of the run: teeth of a saw do not
constexpr double kLeastChange = 0.05;  // the smallest change that is worth a finding
constexpr double kLeastLevel = 0.03;   // by which two segments must differ, as a share
constexpr double kLeastBegun = 0.02;   // of the run's time, lost until it became fast
// A slow-down that costs less, and less than ten seconds, is what machines do now and then.
constexpr double kLeastLost = 0.01;  // of the run's time
constexpr double kLeastLostNs = 10e9;
constexpr double kSudden = 2.0 / 3;  // of the rises that follow each other, made by one of them
// A rank is named if it grew by more than this times the median rank's growth.
constexpr double kAlone = 2;
constexpr double kMostOfIt = 0.5;

// The mean number of samples in a step, for which levels are computed because steps may differ in
// it; 0 if unknown.
double samples_scale(const RankRun& rank) {
  return rank.sees_samples && rank.all.samples > 0 ? rank.all.samples / rank.all.steps : 0;
}

double level_of(const StepSums& usual, double scale) {
  if (scale <= 0 || usual.samples <= 0) return usual.training_ns();
  return usual.training_ns() * usual.steps / usual.samples * scale;
}

// As if each step had the run's mean number of samples.
StepSums of_equal_work(StepSums sums, double scale) {
  if (scale <= 0 || sums.samples <= 0) return sums;
  const double factor = scale * sums.steps / sums.samples;
  sums.length_ns *= factor;
  for (double& part_ns : sums.part_ns) part_ns *= factor;
  return sums;
}

StepSums sums_between(const RankRun& rank, int64_t from_step, int64_t to_step,
                      StepSums RunBlock::*which) {
  StepSums sums;
  for (int64_t block = from_step / rank.block_steps;
       block < std::ssize(rank.blocks) && block * rank.block_steps < to_step; ++block) {
    sums.add(rank.blocks[static_cast<size_t>(block)].*which);
  }
  return sums;
}

// How many steps of the mean number of samples the run made there.
double mean_steps(const RankRuns& ranks, int64_t from_step, int64_t to_step) {
  const RankRun& rank = lasting_rank(ranks);
  const double samples = sums_between(rank, from_step, to_step, &RunBlock::all).samples;
  const double scale = samples_scale(rank);
  return scale > 0 && samples > 0 ? samples / scale : static_cast<double>(to_step - from_step);
}

struct GrownPart {
  size_t part = kLogParts;  // kLogParts: time that no part saw
  double delta_ns = 0;
};

struct RankChange {
  int rank = 0;
  double own_ns = 0;
  GrownPart grown;
  bool is_whole = false;
};

// Whether forward, backward and optimizer grew by much the same share, so that none of them alone
// is the cause.
bool grew_alike(const StepSums& before, const StepSums& after, double delta_ns) {
  const double rise = delta_ns / (before.length_ns / before.steps);
  int parts = 0;
  double grown = 0;
  for (const LogPart part : {LogPart::kForward, LogPart::kBackward, LogPart::kOptimizer}) {
    const double was = before.mean_ns(part), is = after.mean_ns(part);
    grown += is - was;
    if (was < 0.05 * before.length_ns / before.steps) continue;
    if (is / was - 1 < rise / 2) return false;
    ++parts;
  }
  return parts >= 2 && grown >= 0.6 * delta_ns;
}

RankChange change_of(const RankRun& rank, const StepSums& before, const StepSums& after,
                     bool backward_waits) {
  RankChange change;
  change.rank = rank.rank;
  double other = after.length_ns / after.steps - before.length_ns / before.steps;
  change.own_ns = other - (after.mean_ns(LogPart::kCommunicationWait) -
                           before.mean_ns(LogPart::kCommunicationWait));
  change.grown = {kLogParts, -std::numeric_limits<double>::infinity()};
  for (size_t i = 0; i < kLogParts; ++i) {
    const auto part = static_cast<LogPart>(i);
    const double delta = after.mean_ns(part) - before.mean_ns(part);
    other -= delta;
    if (part == LogPart::kCommunicationWait) continue;
    if (part == LogPart::kBackward && backward_waits) continue;
    if (rank.sees[i] && delta > change.grown.delta_ns) change.grown = {i, delta};
  }
  if (other > change.grown.delta_ns) change.grown = {kLogParts, other};
  if (backward_waits) change.own_ns = change.grown.delta_ns;
  change.is_whole = !backward_waits && grew_alike(before, after, change.own_ns);
  return change;
}

void name_the_cause(RunFinding& finding, const RankRuns& ranks, const RunSegment& before,
                    const RunSegment& after) {
  // If the log does not see waiting for other ranks, it is inside the backward pass of the ranks
  // that wait.
  const bool backward_waits = ranks.size() > 1 && !all_see(ranks, LogPart::kCommunicationWait);
  const double delta_ns = after.step_ns - before.step_ns;
  std::vector<RankChange> changes;
  for (const RankRun& rank : ranks) {
    const double scale = samples_scale(rank);
    const StepSums was =
        of_equal_work(usual_between(rank, before.first_step, before.end_step), scale);
    const StepSums is = of_equal_work(usual_between(rank, after.first_step, after.end_step), scale);
    if (was.steps > 0 && is.steps > 0) {
      changes.push_back(change_of(rank, was, is, backward_waits));
    }
  }
  if (changes.empty()) return;
  std::ranges::sort(changes, std::greater(), &RankChange::own_ns);
  const RankChange& slowest = changes.front();
  if (slowest.own_ns < kMostOfIt * delta_ns) {  // no rank's own work explains it
    if (ranks.size() > 1) {
      finding.part = backward_waits ? LogPart::kBackward : LogPart::kCommunicationWait;
    }
    return;
  }
  const double median = changes[changes.size() / 2].own_ns;
  if (changes.size() > 1 && slowest.own_ns > kAlone * std::max(median, 0.0)) {
    for (const RankChange& each : changes) {
      if (each.own_ns > slowest.own_ns / 2) finding.ranks.push_back(each.rank);
    }
    std::ranges::sort(finding.ranks);
  }
  finding.is_whole_step = slowest.is_whole;
  if (!slowest.is_whole && slowest.grown.part < kLogParts &&
      slowest.grown.delta_ns >= kMostOfIt * slowest.own_ns) {
    finding.part = static_cast<LogPart>(slowest.grown.part);
  }
}

/// From one level to a later one.
struct Rise {
  size_t from = 0;
  size_t to = 0;
};

// Levels that rise one after the other are one slow-down that came bit by bit. They are not if one
// rise makes most of it, or if there are two that are each worth a finding.
std::vector<Rise> rises_of(const std::vector<double>& levels,
                           const std::vector<RunSegment>& segments) {
  const auto change = [&](size_t from, size_t to) { return levels[to] / levels[from] - 1; };
  std::vector<Rise> rises;
  const auto add = [&](size_t from, size_t to) {
    if (change(from, to) >= kLeastChange) rises.push_back({from, to});
  };
  for (size_t from = 0, to = 0; from + 1 < levels.size(); from = std::max(to, from + 1)) {
    to = from;
    while (to + 1 < levels.size() && segments[to + 1].creeps) ++to;
    if (to > from) {
      add(from, to);
      continue;
    }
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (; to + 1 < levels.size() && !segments[to + 1].creeps; ++to) {
      const double next = change(to, to + 1);
      if (next < kLeastChange / 2) break;
      least = std::min(least, next);
      most = std::max(most, next);
    }
    const size_t fewest = least < kLeastChange ? 2 : 3;
    const bool is_one = to - from >= fewest && most < kSudden * change(from, to);
    const size_t stride = is_one ? to - from : 1;
    for (size_t i = from; i < to; i += stride) add(i, i + stride);
  }
  return rises;
}

// Minutes to which steps are joined have the slow steps in them, so the level falls where single
// steps begin. From there on it is taken for as high as before.
std::vector<double> comparable_levels(const RankRuns& ranks,
                                      const std::vector<RunSegment>& segments) {
  const auto begins_single_steps = [&](const RunSegment& segment) {
    return std::ranges::any_of(ranks, [&](const RankRun& rank) {
      return rank.thinned_before_step > 0 &&
             std::abs(segment.first_step - rank.thinned_before_step) <= 2 * rank.block_steps;
    });
  };
  std::vector<double> levels;
  double scale = 1;
  for (size_t i = 0; i < segments.size(); ++i) {
    const double level = segments[i].step_ns;
    if (i > 0 && begins_single_steps(segments[i])) {
      scale *= std::max(1.0, segments[i - 1].step_ns / level);
    }
    levels.push_back(scale * level);
  }
  return levels;
}

// How many more tokens the samples of these ranks have, as a share; 0 if a rank does not see them.
double more_tokens(const RankRuns& ranks, const std::vector<int>& numbers, const RunSegment& before,
                   const RunSegment& after) {
  double was = 0, is = 0;
  for (const RankRun& rank : ranks) {
    if (!rank.sees_tokens || !rank.sees_samples) return 0;
    if (!numbers.empty() && std::ranges::find(numbers, rank.rank) == numbers.end()) continue;
    const StepSums earlier = usual_between(rank, before.first_step, before.end_step);
    const StepSums later = usual_between(rank, after.first_step, after.end_step);
    if (earlier.samples <= 0 || later.samples <= 0) continue;
    was += earlier.tokens / earlier.samples;
    is += later.tokens / later.samples;
  }
  return was > 0 ? is / was - 1 : 0;
}

// Steps with more tokens may take longer, and nobody knows how much longer they need to.
void explain_by_tokens(RunFinding& finding, const RankRuns& ranks, const RunSegment& before,
                       const RunSegment& after) {
  const double more = more_tokens(ranks, finding.ranks, before, after);
  if (more < kMostOfIt * finding.change) return;
  finding.more_tokens = more;
  finding.lost_share = 0;
}

// Smaller batches take longer for each sample, although no step became longer.
void explain_by_samples(RunFinding& finding, const RankRuns& ranks, const RunSegment& before,
                        const RunSegment& after) {
  const RankRun& rank = lasting_rank(ranks);
  const StepSums was = usual_between(rank, before.first_step, before.end_step);
  const StepSums is = usual_between(rank, after.first_step, after.end_step);
  const bool is_other = finding.part && !is_work(*finding.part);
  if (is_other || !finding.ranks.empty() || was.samples <= 0 || is.samples <= 0) return;
  if (is.training_ns() > was.training_ns() * (1 + kLeastLevel)) return;
  const double fewer = 1 - is.samples / is.steps / (was.samples / was.steps);
  if (fewer >= kLeastChange / 2) finding.fewer_samples = fewer;
}

// Minutes to which steps are joined have the slow steps in them, so they are above the level of
// later single steps in any case. This is the first level of single steps only.
std::vector<RunSegment>::const_iterator end_of_minutes(const RankRuns& ranks,
                                                       const std::vector<RunSegment>& segments) {
  return std::ranges::find_if(segments, [&](const RunSegment& segment) {
    return std::ranges::any_of(ranks, [&](const RankRun& rank) {
      return rank.thinned_before_step > 0 &&
             segment.first_step >= rank.thinned_before_step - 2 * rank.block_steps;
    });
  });
}

// Levels that the run began with, and left for good.
std::optional<RunFinding> find_slow_begin(const RankRuns& ranks,
                                          const std::vector<RunSegment>& segments) {
  const auto end_of_alike = end_of_minutes(ranks, segments);
  if (end_of_alike == segments.begin()) return std::nullopt;
  const RunSegment& last =
      std::max(*std::prev(end_of_alike), segments.back(),
               [](const auto& left, const auto& right) { return left.step_ns < right.step_ns; });
  auto end = std::find_if(segments.begin(), end_of_alike, [&](const RunSegment& segment) {
    return segment.step_ns < last.step_ns * (1 + kLeastChange);
  });
  if (end == segments.begin()) return std::nullopt;
  // The block in which it ended has steps of both kinds, and makes a short level of its own.
  if (const auto edge = std::prev(end); edge != segments.begin()) {
    const bool is_short = edge->end_step - edge->first_step <=
                          static_cast<int64_t>(kLeastBlocks) * ranks.front().block_steps;
    const double middle_ns = (std::prev(edge)->step_ns + last.step_ns) / 2;
    if (is_short && edge->step_ns < middle_ns) end = edge;
  }
  RunSegment slow{segments.front().first_step, end->first_step, 0};
  double steps = 0;
  for (auto each = segments.begin(); each != end; ++each) {
    const double own = mean_steps(ranks, each->first_step, each->end_step);
    slow.step_ns += own * each->step_ns;
    steps += own;
  }
  slow.step_ns /= steps;
  RunFinding finding;
  finding.cause = RunCause::kSlower;
  finding.change = slow.step_ns / last.step_ns - 1;
  finding.to_step = end->first_step;
  // The warm-up counts: it was no faster, and where a slow begin fades, it was slower.
  const double all_steps = mean_steps(ranks, ranks.front().first_step, end->first_step);
  const double warm_up = std::max(0.0, all_steps - steps);
  const double in_warm_up_ns = std::max(slow.step_ns, warm_up_step_ns(lasting_rank(ranks)));
  const double all_ns = total_ns(ranks) / static_cast<double>(ranks.size());
  finding.lost_share = std::min(
      1.0,
      (steps * (slow.step_ns - last.step_ns) + warm_up * (in_warm_up_ns - last.step_ns)) / all_ns);
  if (finding.lost_share < kLeastBegun) return std::nullopt;
  name_the_cause(finding, ranks, last, slow);
  explain_by_samples(finding, ranks, last, slow);
  explain_by_tokens(finding, ranks, last, slow);
  return finding;
}

struct Piece {
  size_t begin = 0;  // in the blocks that have a level
  bool creeps = false;
};

// A creep becomes stairs, so that all that compares levels finds some.
void add_stairs(std::vector<Piece>& pieces, const Creep& creep, size_t begin, size_t end) {
  const size_t foot = creep.begin < kLeastBlocks ? 0 : creep.begin;
  const size_t top = begin + creep.end + kLeastBlocks > end ? end : begin + creep.end;
  if (foot > 0) pieces.push_back({begin, false});
  begin += foot;
  const size_t stairs = std::min(kMostStairs, (top - begin) / kLeastBlocks);
  for (size_t i = 0; i < stairs; ++i) {
    pieces.push_back({begin + (top - begin) * i / stairs, foot > 0 || i > 0});
  }
  if (top < end) pieces.push_back({top, true});
}

std::vector<Piece> pieces_of(std::span<const double> logs) {
  const std::vector<size_t> begins = segments_of(logs, kLeastBlocks, kLeastLevel);
  const auto values_of = [&](size_t first, size_t last) {
    const size_t end = last + 1 < begins.size() ? begins[last + 1] : logs.size();
    return logs.subspan(begins[first], end - begins[first]);
  };
  const auto level_of = [&](size_t segment) {
    const auto values = values_of(segment, segment);
    return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
  };
  std::vector<Piece> pieces;
  for (size_t first = 0, last = 0; first < begins.size(); first = last + 1) {
    last = first;
    while (last + 1 < begins.size() && level_of(last + 1) > level_of(last)) ++last;
    // Those that rise one after the other may be one creep, or a creep and a jump.
    std::optional<Creep> creep;
    for (;; --last) {
      creep =
          creep_of(values_of(first, last), logs.size() / kLeastCreep, std::log(1 + kLeastChange));
      if (creep || last == first) break;
    }
    if (creep) {
      add_stairs(pieces, *creep, begins[first], begins[first] + values_of(first, last).size());
    } else {
      pieces.push_back({begins[first], false});
    }
  }
  return pieces;
}

// For each block the mean time of a usual step, over the ranks; 0 if too few steps are usual.
std::vector<double> block_levels(const RankRuns& ranks) {
  size_t count = 0;
  for (const RankRun& rank : ranks) count = std::max(count, rank.blocks.size());
  std::vector<double> levels(count);
  for (size_t i = 0; i < count; ++i) {
    double sum = 0, number = 0;
    for (const RankRun& rank : ranks) {
      if (i >= rank.blocks.size()) continue;
      const StepSums& usual = rank.blocks[i].usual;
      if (usual.steps < 0.5 * static_cast<double>(rank.block_steps)) continue;
      sum += level_of(usual, samples_scale(rank));
      number += 1;
    }
    levels[i] = number > 0 ? sum / number : 0;
  }
  return levels;
}

// The first block has the last of the warm-up and the last block may have few steps, so each may
// lie far off. It would make a level with its next neighbours, which are as always: so it lies no
// further off than these do.
void calm_edges(std::vector<double>& levels, const std::vector<size_t>& blocks) {
  if (blocks.size() < 2 * kLeastBlocks) return;
  const auto calm = [&](size_t edge, size_t first_neighbour) {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (size_t i = first_neighbour; i + 1 < first_neighbour + kLeastBlocks; ++i) {
      least = std::min(least, levels[blocks[i]]);
      most = std::max(most, levels[blocks[i]]);
    }
    levels[blocks[edge]] = std::clamp(levels[blocks[edge]], least, most);
  };
  calm(0, 1);
  calm(blocks.size() - 1, blocks.size() - kLeastBlocks);
}

}  // namespace

StepSums usual_between(const RankRun& rank, int64_t from_step, int64_t to_step) {
  return sums_between(rank, from_step, to_step, &RunBlock::usual);
}

std::vector<RunSegment> level_segments(const RankRuns& ranks) {
  std::vector<double> levels = block_levels(ranks);
  std::vector<size_t> blocks;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] > 0) blocks.push_back(i);
  }
  calm_edges(levels, blocks);
  std::vector<double> logs;
  for (const size_t block : blocks) logs.push_back(std::log(levels[block]));
  std::vector<RunSegment> segments;
  if (logs.empty()) return segments;
  const std::vector<Piece> pieces = pieces_of(logs);
  const int64_t block_steps = ranks.front().block_steps;
  const int64_t end_step = std::ranges::max_element(ranks, {}, &RankRun::end_step)->end_step;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const size_t begin = pieces[i].begin;
    const size_t end = i + 1 < pieces.size() ? pieces[i + 1].begin : blocks.size();
    double sum = 0;
    for (size_t at = begin; at < end; ++at) sum += levels[blocks[at]];
    RunSegment segment;
    segment.first_step = static_cast<int64_t>(blocks[begin]) * block_steps;
    segment.end_step =
        std::min((static_cast<int64_t>(blocks[end - 1]) + 1) * block_steps, end_step);
    segment.step_ns = sum / static_cast<double>(end - begin);
    segment.creeps = pieces[i].creeps;
    segments.push_back(segment);
  }
  return segments;
}

std::vector<RunFinding> find_slowdowns(const RankRuns& ranks,
                                       const std::vector<RunSegment>& segments) {
  std::vector<RunFinding> findings;
  const double all_ns = total_ns(ranks) / static_cast<double>(ranks.size());
  const std::vector<double> levels = comparable_levels(ranks, segments);
  for (const auto& [from, to] : rises_of(levels, segments)) {
    RunFinding finding;
    finding.cause = RunCause::kSlower;
    finding.change = levels[to] / levels[from] - 1;
    finding.from_step = segments[from + 1].first_step;
    finding.risen_step = segments[to].first_step;
    // The slowdown lasts until a level that is about as fast as before.
    double lost_ns = 0;
    for (size_t later = from + 1; later < segments.size(); ++later) {
      const RunSegment& segment = segments[later];
      if (later > to && levels[later] < levels[from] * (1 + kLeastChange / 2)) {
        finding.to_step = segment.first_step;
        break;
      }
      lost_ns += (std::min(levels[later], levels[to]) - levels[from]) *
                 mean_steps(ranks, segment.first_step, segment.end_step);
    }
    lost_ns *= segments[to].step_ns / levels[to];
    finding.lost_share = std::min(1.0, lost_ns / all_ns);
    if (finding.lost_share < kLeastLost && lost_ns < kLeastLostNs) continue;
    name_the_cause(finding, ranks, segments[from], segments[to]);
    explain_by_samples(finding, ranks, segments[from], segments[to]);
    explain_by_tokens(finding, ranks, segments[from], segments[to]);
    findings.push_back(finding);
  }
  if (segments.empty()) return findings;
  const auto begin = find_slow_begin(ranks, segments);
  const auto is_within = [&](const RunFinding& each) { return each.from_step < *begin->to_step; };
  if (begin && std::ranges::none_of(findings, is_within)) findings.push_back(*begin);
  return findings;
}

}  // namespace redline::trace
