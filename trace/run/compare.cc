#include "trace/run/compare.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/statistics.h"

namespace redline::trace {
namespace {

constexpr size_t kMostGroups = 20;
constexpr size_t kFewestGroups = 4;
// Freedom of an interval that rests on kAssumedSpread: as if three runs had shown it. With more, a
// busy machine would alarm by chance (gate_chance_test.cc).
constexpr double kAssumedDegrees = 2;
constexpr std::array kSeldom = {LogPart::kEvaluation, LogPart::kCheckpoint, LogPart::kCompile};

/// A few steps of all ranks.
struct StepGroup {
  double steps = 0;
  double training_ns = 0;  // without what is done seldom
  double samples = 0;
  PartTimes part_ns{};

  void add(const StepGroup& other) {
    steps += other.steps;
    training_ns += other.training_ns;
    samples += other.samples;
    for (size_t part = 0; part < kLogParts; ++part) part_ns[part] += other.part_ns[part];
  }
};

// Times are means over the ranks. Of what is done seldom the rank that takes longest counts, since
// the others wait for it.
StepGroup group_of(const std::vector<RankRun>& ranks, size_t block) {
  StepGroup group;
  const double share = 1 / static_cast<double>(ranks.size());
  for (const RankRun& rank : ranks) {
    const StepSums& sums = rank.blocks[block].all;
    group.steps += share * sums.steps;
    group.training_ns += share * sums.length_ns;
    group.samples += sums.samples;
    for (size_t part = 0; part < kLogParts; ++part) {
      group.part_ns[part] += share * sums.part_ns[part];
    }
  }
  for (const LogPart part : kSeldom) {
    double longest = 0;
    for (const RankRun& rank : ranks) {
      longest = std::max(longest, rank.blocks[block].all.part_ns[static_cast<size_t>(part)]);
    }
    group.part_ns[static_cast<size_t>(part)] = longest;
    group.training_ns -= longest;
  }
  return group;
}

std::vector<StepGroup> groups_of(std::vector<RankRun>& ranks) {
  int64_t block_steps = 1, warm_up_end = 0;
  for (const RankRun& rank : ranks) {
    block_steps = std::max(block_steps, rank.block_steps);
    warm_up_end = std::max(warm_up_end, rank.first_step + rank.warm_up_steps);
  }
  size_t blocks = SIZE_MAX;
  for (RankRun& rank : ranks) {
    rank.coarsen(block_steps);
    blocks = std::min(blocks, rank.blocks.size());
  }
  std::vector<StepGroup> fine;
  const auto first = static_cast<size_t>((warm_up_end + block_steps - 1) / block_steps);
  for (size_t block = first; block < blocks; ++block) {
    const bool is_in_all = std::all_of(ranks.begin(), ranks.end(), [&](const RankRun& rank) {
      return rank.blocks[block].all.steps > 0;
    });
    if (is_in_all) fine.push_back(group_of(ranks, block));
  }
  const size_t count = std::min(kMostGroups, fine.size());
  std::vector<StepGroup> groups(count);
  for (size_t i = 0; i < fine.size(); ++i) groups[i * count / fine.size()].add(fine[i]);
  return groups;
}

// Yuen's standard error of a mean without the `cut` values at each end of `order`.
double trimmed_error(const std::vector<double>& values, const std::vector<size_t>& order,
                     size_t cut) {
  const auto count = static_cast<double>(values.size());
  const double low = values[order[cut]], high = values[order[values.size() - 1 - cut]];
  double mean = 0, squares = 0;
  for (const double value : values) mean += std::clamp(value, low, high) / count;
  for (const double value : values) squares += std::pow(std::clamp(value, low, high) - mean, 2);
  const double kept = 1 - 2 * static_cast<double>(cut) / count;
  return std::sqrt(squares / (count - 1) / count) / kept;
}

class RunMeasure {
 public:
  RunMeasure(std::vector<StepGroup> groups, bool knows_samples) : groups_(std::move(groups)) {
    for (const StepGroup& group : groups_) all_.add(group);
    per_sample_ = knows_samples && std::all_of(groups_.begin(), groups_.end(),
                                               [](const auto& group) { return group.samples > 0; });
    std::vector<double> values =
        values_of([](const StepGroup& group) { return group.training_ns; });
    order_.resize(values.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t left, size_t right) { return values[left] < values[right]; });
    cut_ = values.size() / 4;
    for (size_t i = cut_; i < order_.size() - cut_; ++i) kept_.add(groups_[order_[i]]);
  }

  /// For a step of the run's mean number of samples.
  [[nodiscard]] StepTime training() const {
    return {kept_.training_ns / weight(kept_) * unit(),
            trimmed_error(values_of([](const StepGroup& group) { return group.training_ns; }),
                          order_, cut_) *
                unit()};
  }
  [[nodiscard]] StepTime usual_part(size_t part) const {
    std::vector<double> values =
        values_of([part](const StepGroup& group) { return group.part_ns[part]; });
    double mean = 0, squares = 0;
    const auto count = static_cast<double>(order_.size() - 2 * cut_);
    for (size_t i = cut_; i < order_.size() - cut_; ++i) mean += values[order_[i]] / count;
    for (size_t i = cut_; i < order_.size() - cut_; ++i) {
      squares += std::pow(values[order_[i]] - mean, 2);
    }
    const double error = std::sqrt(squares / std::max(1.0, count - 1) / count);
    return {kept_.part_ns[part] / weight(kept_) * unit(), error * unit()};
  }
  [[nodiscard]] StepTime seldom_part(size_t part) const {
    return {all_.part_ns[part] / weight(all_) * unit(), 0};
  }
  [[nodiscard]] bool is_enough() const {
    return groups_.size() >= kFewestGroups && steps() >= kFewestRunSteps;
  }
  [[nodiscard]] int64_t steps() const { return std::llround(all_.steps); }
  [[nodiscard]] std::optional<double> samples() const {
    return per_sample_ ? std::optional(all_.samples / all_.steps) : std::nullopt;
  }

 private:
  [[nodiscard]] double weight(const StepGroup& group) const {
    return per_sample_ ? group.samples : group.steps;
  }
  [[nodiscard]] double unit() const { return per_sample_ ? all_.samples / all_.steps : 1; }
  template <typename Of>
  [[nodiscard]] std::vector<double> values_of(Of of) const {
    std::vector<double> values;
    for (const StepGroup& group : groups_) values.push_back(of(group) / weight(group));
    return values;
  }

  std::vector<StepGroup> groups_;
  bool per_sample_ = false;
  std::vector<size_t> order_;  // of groups, the fastest first
  size_t cut_ = 0;             // so many at each end are left out
  StepGroup kept_, all_;
};

std::optional<double> most_memory(const std::vector<RankRun>& ranks, int64_t LoggedMemory::*bytes) {
  int64_t most = kUnseen;
  for (const RankRun& rank : ranks) {
    for (const LoggedMemory& memory : rank.memory) most = std::max(most, memory.*bytes);
  }
  return most > 0 ? std::optional(static_cast<double>(most)) : std::nullopt;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_about_mean(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

/// One value of each run, with its standard error by the run alone.
struct SideValues {
  std::vector<double> values;
  std::vector<double> errors;

  void add(double value, double error) {
    values.push_back(value);
    errors.push_back(error);
  }
  [[nodiscard]] double mean_square_error() const {
    double sum = 0;
    for (const double error : errors) sum += error * error;
    return sum / static_cast<double>(errors.size());
  }
};

struct SideDifference {
  ChangeInterval interval;
  double spread = 0;
  bool is_assumed = false;
};

// The interval of the difference of two means. `assumed` is the spread between runs where there is
// too little to measure it by.
SideDifference difference_of(const SideValues& before, const SideValues& after, bool paired,
                             double assumed, double tail) {
  const auto n = static_cast<double>(before.values.size());
  const auto m = static_cast<double>(after.values.size());
  const double within = (before.mean_square_error() + after.mean_square_error()) / 2;
  const double assumed_variance = assumed * assumed + within;
  SideDifference result;
  double degrees = 0, variance = 0;
  if (paired) {
    std::vector<double> differences;
    for (size_t i = 0; i < before.values.size(); ++i) {
      differences.push_back(after.values[i] - before.values[i]);
    }
    degrees = n - 1;
    variance = degrees > 0 ? squares_about_mean(differences) / degrees / 2 : 0;
  } else {
    degrees = n + m - 2;
    variance =
        degrees > 0
            ? (squares_about_mean(before.values) + squares_about_mean(after.values)) / degrees
            : 0;
  }
  variance = std::max(variance, within);
  const double mean_error = std::sqrt(1 / n + 1 / m);
  double half = student_t(degrees, tail) * std::sqrt(variance) * mean_error;
  const double by_assumption = student_t(kAssumedDegrees, tail) *
                               std::sqrt(std::max(variance, assumed_variance)) * mean_error;
  // One degree of freedom alone gives an interval that is wider than anybody believes.
  if (degrees < 1 || (degrees < kAssumedDegrees && by_assumption < half)) {
    half = by_assumption;
    variance = std::max(variance, assumed_variance);
    result.is_assumed = true;
  }
  result.spread = std::sqrt(variance);
  const double value = mean_of(after.values) - mean_of(before.values);
  result.interval = {value, value - half, value + half};
  return result;
}

ChangeInterval exponential(const ChangeInterval& logs) {
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
      difference_of(before, after, runs.is_paired, kAssumedSpread, tail);
  return MemoryChange{std::exp(mean_of(before.values)), std::exp(mean_of(after.values)),
                      exponential(difference.interval)};
}

class Comparison {
 public:
  Comparison(RunComparison& result, double tail) : result_(result), tail_(tail) {
    const auto samples = [](const std::vector<RunFigures>& side) -> std::optional<double> {
      double sum = 0;
      for (const RunFigures& run : side) {
        if (!run.samples) return std::nullopt;
        sum += *run.samples;
      }
      return sum / static_cast<double>(side.size());
    };
    const auto before = samples(result.before), after = samples(result.after);
    if (before && after) result.basis_samples = before;
  }

  void write() {
    const SideValues before = logs_of(result_.before), after = logs_of(result_.after);
    const SideDifference difference =
        difference_of(before, after, result_.is_paired, kAssumedSpread, tail_);
    result_.ratio = exponential(difference.interval);
    result_.before_ns = std::exp(mean_of(before.values));
    result_.after_ns = std::exp(mean_of(after.values));
    result_.spread = difference.spread;
    result_.is_spread_assumed = difference.is_assumed;
    for (size_t part = 0; part <= kLogParts; ++part) write_part(part);
    const double direction = result_.ratio.value >= 1 ? 1 : -1;
    const auto explained = [&](const PartChange& change) {
      return std::pair(change.is_clear() && direction * change.delta_ns.value > 0,
                       direction * change.delta_ns.value);
    };
    std::stable_sort(result_.parts.begin(), result_.parts.end(),
                     [&](const PartChange& left, const PartChange& right) {
                       return explained(left) > explained(right);
                     });
  }

 private:
  // What a time of the run is to be multiplied by to be for the same work.
  [[nodiscard]] double scale(const RunFigures& run) const {
    return result_.basis_samples ? *result_.basis_samples / *run.samples : 1;
  }
  [[nodiscard]] SideValues logs_of(const std::vector<RunFigures>& side) const {
    SideValues values;
    for (const RunFigures& run : side) {
      values.add(std::log(run.step.ns * scale(run)), run.step.error_ns / run.step.ns);
    }
    return values;
  }
  [[nodiscard]] std::optional<SideValues> part_of(const std::vector<RunFigures>& side,
                                                  size_t part) const {
    SideValues values;
    for (const RunFigures& run : side) {
      if (!run.parts[part]) return std::nullopt;
      values.add(run.parts[part]->ns * scale(run), run.parts[part]->error_ns * scale(run));
    }
    return values;
  }
  void write_part(size_t part) {
    const auto before = part_of(result_.before, part), after = part_of(result_.after, part);
    if (!before || !after) return;
    PartChange change;
    if (part < kLogParts) change.part = static_cast<LogPart>(part);
    change.before_ns = mean_of(before->values);
    change.after_ns = mean_of(after->values);
    if (change.before_ns <= 0 && change.after_ns <= 0) return;
    const double assumed = kAssumedSpread * std::max(change.before_ns, change.after_ns);
    change.delta_ns = difference_of(*before, *after, result_.is_paired, assumed, tail_).interval;
    result_.parts.push_back(change);
  }

  RunComparison& result_;
  double tail_;
};

// The only rank of a job waits for no other, and jobs with more ranks are compared with that.
// Hooks that see the forward pass would have seen the wait.
bool waits_for_nobody(const std::vector<RankRun>& ranks, LogPart part) {
  return part == LogPart::kCommunicationWait && ranks.size() == 1 &&
         ranks.front().world_size == 1 && ranks.front().sees_part(LogPart::kForward);
}

}  // namespace

std::optional<RunFigures> run_figures(std::vector<RankRun> ranks) {
  std::erase_if(ranks, [](const RankRun& rank) { return rank.blocks.empty(); });
  if (ranks.empty()) return std::nullopt;
  const bool knows_samples = std::all_of(ranks.begin(), ranks.end(),
                                         [](const RankRun& rank) { return rank.sees_samples; });
  const RunMeasure measure(groups_of(ranks), knows_samples);
  if (!measure.is_enough()) return std::nullopt;
  RunFigures run;
  run.path = ranks.front().path;
  run.begin_ns = ranks.front().begin_ns;
  run.ranks = std::ssize(ranks);
  run.steps = measure.steps();
  run.samples = measure.samples();
  run.step = measure.training();
  double rest = run.step.ns;
  for (size_t part = 0; part < kLogParts; ++part) {
    const bool is_seldom =
        std::find(kSeldom.begin(), kSeldom.end(), static_cast<LogPart>(part)) != kSeldom.end();
    const auto seeing = std::count_if(ranks.begin(), ranks.end(),
                                      [part](const RankRun& rank) { return rank.sees[part]; });
    if (seeing == 0 && waits_for_nobody(ranks, static_cast<LogPart>(part))) {
      run.parts[part] = StepTime{};
    }
    // One rank alone may evaluate and save; then the others wait for it.
    if (seeing == 0 || (!is_seldom && seeing < std::ssize(ranks))) continue;
    run.parts[part] = is_seldom ? measure.seldom_part(part) : measure.usual_part(part);
    if (is_seldom) {
      run.step.ns += run.parts[part]->ns;
    } else {
      rest -= run.parts[part]->ns;
    }
  }
  run.parts[kLogParts] = StepTime{std::max(0.0, rest), run.step.error_ns};
  run.host_bytes = most_memory(ranks, &LoggedMemory::host_bytes);
  run.device_bytes = most_memory(ranks, &LoggedMemory::device_bytes);
  return run;
}

RunComparison change_between(std::vector<RunFigures> before, std::vector<RunFigures> after,
                             double tail) {
  const auto by_begin = [](const RunFigures& left, const RunFigures& right) {
    return left.begin_ns < right.begin_ns;
  };
  std::stable_sort(before.begin(), before.end(), by_begin);
  std::stable_sort(after.begin(), after.end(), by_begin);
  RunComparison result;
  result.is_paired = took_turns(before, after);
  result.before = std::move(before);
  result.after = std::move(after);
  Comparison(result, tail).write();
  result.host_memory = memory_change(result, &RunFigures::host_bytes, tail);
  result.device_memory = memory_change(result, &RunFigures::device_bytes, tail);
  return result;
}

}  // namespace redline::trace
