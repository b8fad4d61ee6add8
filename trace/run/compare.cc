#include "trace/run/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/format.h"
#include "base/statistics.h"

namespace redline::trace {
namespace {

// With fewer runs a side the spread between them is assumed, for whichever steps.
constexpr size_t kFewestForUndisturbed = 3;
// As many times as much work may a block, or a group, of one run have as that of another.
constexpr double kAlikeBlocks = 1.1;
constexpr double kAlikeGroups = 1.5;

ValueInterval wider(const ValueInterval& interval, double by) {
  return {interval.value, interval.low - by, interval.high + by};
}

ValueInterval exponential(const ValueInterval& logs) {
  return {std::exp(logs.value), std::exp(logs.low), std::exp(logs.high)};
}

// Whether of each two runs that followed each other one was of each side.
bool took_turns(const std::vector<RunFigures>& before, const std::vector<RunFigures>& after) {
  if (before.size() != after.size() || before.size() < 2) return false;
  for (size_t i = 0; i + 1 < before.size(); ++i) {
    const int64_t pair_end = std::max(before[i].begin_ns, after[i].begin_ns);
    if (std::min(before[i + 1].begin_ns, after[i + 1].begin_ns) <= pair_end) return false;
  }
  return true;
}

using Bytes = std::optional<double> RunFigures::*;

std::optional<MemoryChange> memory_change(const RunComparison& runs, Bytes bytes, double tail) {
  SideValues before, after;
  const auto take = [&](const std::vector<RunFigures>& side, SideValues& values) {
    for (const RunFigures& run : side) {
      if (!(run.*bytes)) return false;
      values.add(std::log(*(run.*bytes)), 0);
    }
    return true;
  };
  if (!take(runs.before, before) || !take(runs.after, after)) return std::nullopt;
  const SideDifference difference =
      difference_of(before, after, {runs.is_paired, kAssumedSpread, tail});
  return MemoryChange{std::exp(mean_of(before.values)), std::exp(mean_of(after.values)),
                      exponential(difference.interval), difference.spread, difference.is_assumed};
}

// Samples in a step, if all runs know theirs.
std::optional<double> mean_samples(const std::vector<RunFigures>& side) {
  double sum = 0;
  for (const RunFigures& run : side) {
    if (!run.samples) return std::nullopt;
    sum += *run.samples;
  }
  return sum / static_cast<double>(side.size());
}

/// Whether that many steps are about the same work in all runs.
bool are_alike(const RunComparison& runs, double RunFigures::*steps, double most) {
  double least = std::numeric_limits<double>::infinity(), largest = 0;
  for (const auto* side : {&runs.before, &runs.after}) {
    for (const RunFigures& run : *side) {
      const double work = run.*steps * (runs.basis_samples ? *run.samples : 1);
      least = std::min(least, work);
      largest = std::max(largest, work);
    }
  }
  return largest <= most * least;
}

bool have_one_length(const RunComparison& runs) {
  const auto has_length = [&](const RunFigures& run) {
    return run.end_step == runs.before.front().end_step;
  };
  return std::ranges::all_of(runs.before, has_length) &&
         std::ranges::all_of(runs.after, has_length);
}

// A run that ends a step later may have one evaluation more. Of those that come regularly as many
// count as do in a long run.
void count_regular_pauses(RunFigures& run) {
  for (size_t part = 0; part < kLogParts; ++part) {
    if (run.regular_ns[part] <= 0) continue;
    for (StepFigures* figures : {&run.all_steps, &run.mean_steps}) {
      const double more_ns = run.regular_ns[part] - figures->parts[part]->ns;
      figures->parts[part]->ns += more_ns;
      figures->step.ns += more_ns;
    }
    run.pause_ns[part] = 0;
  }
}

void fit_lengths(RunComparison& runs) {
  const bool is_one_length = have_one_length(runs);
  for (auto* side : {&runs.before, &runs.after}) {
    for (RunFigures& run : *side) {
      is_one_length ? run.pause_ns.fill(0) : count_regular_pauses(run);
    }
  }
}

/// Compares the runs by all their steps, or by others.
template <typename FiguresOf>
class StepComparison {
 public:
  StepComparison(const RunComparison& runs, FiguresOf figures_of, double tail, bool has_pauses)
      : runs_(runs), figures_of_(figures_of), tail_(tail), has_pauses_(has_pauses) {}

  [[nodiscard]] StepChange compare() {
    const SideValues before = logs_of(runs_.before), after = logs_of(runs_.after);
    const SideDifference difference =
        difference_of(before, after, {runs_.is_paired, kAssumedSpread, tail_});
    change_.pause_share = most_of_runs([&](const RunFigures& run) {
      const double pauses_ns = std::accumulate(run.pause_ns.begin(), run.pause_ns.end(), 0.0);
      return pauses_ns / figures_of_(run).step.ns;
    });
    change_.ratio = exponential(wider(difference.interval, change_.pause_share));
    change_.before_ns = std::exp(mean_of(before.values));
    change_.after_ns = change_.before_ns * change_.ratio.value;
    change_.spread = difference.spread;
    change_.is_spread_assumed = difference.is_assumed;
    for (size_t part = 0; part < kLogParts; ++part) write_part(part);
    if (!change_.parts.empty()) write_part(kLogParts);
    sort_parts();
    return std::move(change_);
  }

 private:
  // What a time of the run is to be multiplied by to be for the same work.
  [[nodiscard]] double scale(const RunFigures& run) const {
    return runs_.basis_samples ? *runs_.basis_samples / *run.samples : 1;
  }
  /// The largest that `pause_of` gives of a run, 0 of steps without pauses.
  template <typename PauseOf>
  [[nodiscard]] double most_of_runs(PauseOf pause_of) const {
    double most = 0;
    for (const auto* side : {&runs_.before, &runs_.after}) {
      for (const RunFigures& run : *side) most = std::max(most, has_pauses_ ? pause_of(run) : 0);
    }
    return most;
  }
  [[nodiscard]] SideValues logs_of(const std::vector<RunFigures>& side) const {
    SideValues values;
    for (const RunFigures& run : side) {
      const StepTime& step = figures_of_(run).step;
      values.add(std::log(step.ns * scale(run)), step.error_ns / step.ns);
    }
    return values;
  }
  [[nodiscard]] bool is_seen_by_all(size_t part) const {
    const auto sees = [&](const RunFigures& run) {
      return figures_of_(run).parts[part].has_value();
    };
    return std::ranges::all_of(runs_.before, sees) && std::ranges::all_of(runs_.after, sees);
  }
  /// What this run sees as parts and another one does not: there it is outside of the parts.
  [[nodiscard]] double not_seen_by_all_ns(const RunFigures& run) const {
    double sum_ns = 0;
    for (size_t part = 0; part < kLogParts; ++part) {
      const std::optional<StepTime>& time = figures_of_(run).parts[part];
      if (time && !is_seen_by_all(part)) sum_ns += time->ns;
    }
    return sum_ns;
  }
  [[nodiscard]] std::optional<SideValues> part_of(const std::vector<RunFigures>& side,
                                                  size_t part) const {
    SideValues values;
    for (const RunFigures& run : side) {
      const std::optional<StepTime>& time = figures_of_(run).parts[part];
      if (!time) return std::nullopt;
      const double ns = time->ns + (part == kLogParts ? not_seen_by_all_ns(run) : 0);
      values.add(ns * scale(run), time->error_ns * scale(run));
    }
    return values;
  }
  void write_part(size_t part) {
    const auto before = part_of(runs_.before, part), after = part_of(runs_.after, part);
    if (!before || !after) return;
    PartChange change;
    if (part < kLogParts) change.part = static_cast<LogPart>(part);
    change.before_ns = mean_of(before->values);
    const double after_ns = mean_of(after->values);
    if (change.before_ns <= 0 && after_ns <= 0) return;
    const double assumed = kAssumedSpread * std::max(change.before_ns, after_ns);
    const double pause_ns = most_of_runs([&](const RunFigures& run) {
      return part < kLogParts ? run.pause_ns[part] * scale(run) : 0;
    });
    change.delta_ns =
        wider(difference_of(*before, *after, {runs_.is_paired, assumed, tail_}).interval, pause_ns);
    change.after_ns = std::max(0.0, change.before_ns + change.delta_ns.value);
    change_.parts.push_back(change);
  }

  // By what each part surely explains: where all parts are noisy, the largest is so by chance.
  // Where the noise is assumed, it only says that large parts have more of it.
  void sort_parts() {
    const bool is_slower = change_.ratio.value >= 1;
    const bool knows_noise = !change_.is_spread_assumed;
    const auto explained = [=](const PartChange& change) {
      const ValueInterval& delta = change.delta_ns;
      const double sure = is_slower ? delta.low : -delta.high;
      const double likely = is_slower ? delta.value : -delta.value;
      return std::pair(sure > 0, sure > 0 && knows_noise ? sure : likely);
    };
    std::ranges::stable_sort(change_.parts, std::greater(), explained);
  }

  const RunComparison& runs_;
  FiguresOf figures_of_;
  double tail_;
  bool has_pauses_;
  StepChange change_;
};

std::string logs_words(const RunFigures& run) {
  return format_ranks(run.rank_numbers) + " of " + std::to_string(run.world_size);
}

}  // namespace

std::optional<std::string> why_not_comparable(const std::vector<RunFigures>& before,
                                              const std::vector<RunFigures>& after) {
  std::vector<const RunFigures*> runs;
  for (const auto* side : {&before, &after}) {
    for (const RunFigures& run : *side) runs.push_back(&run);
  }
  const auto lacking = std::ranges::find_if(runs, &RunFigures::lacks_ranks);
  if (lacking == runs.end()) return std::nullopt;
  const RunFigures& one = **lacking;
  for (const RunFigures* other : runs) {
    if (other->world_size == one.world_size && other->rank_numbers == one.rank_numbers) continue;
    return one.path + ": cannot be compared with " + other->path +
           ": of this run there are the logs of " + logs_words(one) + ", of that one those of " +
           logs_words(*other) +
           ". Add the logs that are missing, or name one log of the same rank on each side";
  }
  return std::nullopt;
}

bool RunComparison::is_by_undisturbed() const {
  if (rests_on_all || !undisturbed || !undisturbed->is_clear()) return false;
  if (!all_steps.is_clear()) return true;
  const bool is_same = (undisturbed->ratio.value > 1) == (all_steps.ratio.value > 1);
  return is_same && undisturbed->width() < all_steps.width();
}

RunComparison change_between(std::vector<RunFigures> before, std::vector<RunFigures> after,
                             double tail, double tail_of_more) {
  std::ranges::stable_sort(before, {}, &RunFigures::begin_ns);
  std::ranges::stable_sort(after, {}, &RunFigures::begin_ns);
  RunComparison result;
  result.is_paired = took_turns(before, after);
  const auto samples = mean_samples(before);
  if (samples && mean_samples(after)) result.basis_samples = samples;
  result.before = std::move(before);
  result.after = std::move(after);
  fit_lengths(result);
  const auto is_known = [](const RunFigures& run) { return run.undisturbed.has_value(); };
  const bool can_show_undisturbed = std::ranges::all_of(result.before, is_known) &&
                                    std::ranges::all_of(result.after, is_known) &&
                                    are_alike(result, &RunFigures::block_steps, kAlikeBlocks);
  const bool shows_undisturbed =
      can_show_undisturbed &&
      std::min(result.before.size(), result.after.size()) >= kFewestForUndisturbed;
  const double tail_of_each = shows_undisturbed ? tail / 2 : tail;
  result.tail_of_more = tail_of_more;
  result.step_tail_of_more = can_show_undisturbed ? tail_of_more / 2 : tail_of_more;
  result.counts_all_groups = !are_alike(result, &RunFigures::group_steps, kAlikeGroups);
  const auto all = [&result](const RunFigures& run) -> const StepFigures& {
    return result.counts_all_groups ? run.mean_steps : run.all_steps;
  };
  result.all_steps = StepComparison(result, all, tail_of_each, true).compare();
  if (shows_undisturbed) {
    const auto some = [](const RunFigures& run) -> const StepFigures& { return *run.undisturbed; };
    result.undisturbed = StepComparison(result, some, tail_of_each, false).compare();
  }
  result.host_memory = memory_change(result, &RunFigures::host_bytes, tail);
  result.device_memory = memory_change(result, &RunFigures::device_bytes, tail);
  return result;
}

}  // namespace redline::trace
