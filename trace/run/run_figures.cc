#include "trace/run/run_figures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "trace/run/causes.h"

namespace redline::trace {
namespace {

constexpr size_t kMostGroups = 20;
constexpr size_t kFewestGroups = 4;
// The very fastest blocks are left out, because clocks are coarse and batches may be smaller.
constexpr size_t kFewestBlocks = 20;  // of which undisturbed ones are sought
constexpr double kUndisturbedFrom = 0.05;
constexpr double kUndisturbedTo = 0.25;

bool is_seldom(size_t part) {
  return std::ranges::find(kSeldomParts, static_cast<LogPart>(part)) != kSeldomParts.end();
}

/// A few steps of all ranks.
struct StepGroup {
  double steps = 0;
  double training_ns = 0;  // without what is done seldom
  double samples = 0;
  PartTimes part_ns{};
  bool is_torn = false;  // of a block: the others wait in a later one for what a rank did in it

  void add(const StepGroup& other) {
    steps += other.steps;
    training_ns += other.training_ns;
    samples += other.samples;
    for (size_t part = 0; part < kLogParts; ++part) part_ns[part] += other.part_ns[part];
  }
};

// Ranks that wait for each other in a block need the same time for it.
bool is_torn(const RankRuns& ranks, size_t block, double pause_ns) {
  constexpr double kLeast = 0.02;  // of the block: less moves no figure
  double shortest = std::numeric_limits<double>::infinity(), longest = 0;
  for (const RankRun& rank : ranks) {
    shortest = std::min(shortest, rank.blocks[block].all.length_ns);
    longest = std::max(longest, rank.blocks[block].all.length_ns);
  }
  return pause_ns > kLeast * longest && longest - shortest > kLeast * longest;
}

// Times are means over the ranks. Of what is done seldom the rank that takes longest counts, since
// the others wait for it.
StepGroup group_of(const RankRuns& ranks, size_t block) {
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
  double pause_ns = 0;
  for (const LogPart part : kSeldomParts) {
    double longest = 0;
    for (const RankRun& rank : ranks) {
      longest = std::max(longest, rank.blocks[block].all.part_ns[static_cast<size_t>(part)]);
    }
    group.part_ns[static_cast<size_t>(part)] = longest;
    pause_ns += longest;
  }
  group.training_ns -= pause_ns;
  group.is_torn = group.training_ns <= 0 || is_torn(ranks, block, pause_ns);
  return group;
}

/// The blocks after the warm-up that all ranks have.
std::vector<StepGroup> blocks_of(RankRuns& ranks) {
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
  std::vector<StepGroup> found;
  const auto first = static_cast<size_t>((warm_up_end + block_steps - 1) / block_steps);
  for (size_t block = first; block < blocks; ++block) {
    const bool is_in_all = std::ranges::all_of(
        ranks, [&](const RankRun& rank) { return rank.blocks[block].all.steps > 0; });
    if (is_in_all) found.push_back(group_of(ranks, block));
  }
  return found;
}

std::vector<StepGroup> joined(const std::vector<StepGroup>& blocks) {
  const size_t count = std::min(kMostGroups, blocks.size());
  std::vector<StepGroup> groups(count);
  for (size_t i = 0; i < blocks.size(); ++i) groups[i * count / blocks.size()].add(blocks[i]);
  return groups;
}

StepGroup sum_of(const std::vector<StepGroup>& groups) {
  StepGroup sum;
  for (const StepGroup& group : groups) sum.add(group);
  return sum;
}

/// In what the time of a group is counted.
struct Basis {
  bool per_sample = false;
  double unit = 1;  ///< samples in a step of the run

  [[nodiscard]] double weight(const StepGroup& group) const {
    return per_sample ? group.samples : group.steps;
  }
};

/// The groups of a run that count: those between two places in their order, the fastest first.
class CountedGroups {
 public:
  CountedGroups(const std::vector<StepGroup>& groups, const Basis& basis, size_t first, size_t end)
      : groups_(groups), basis_(basis), order_(groups.size()), first_(first), end_(end) {
    for (const StepGroup& group : groups) {
      values_.push_back(group.training_ns / basis.weight(group));
    }
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::ranges::stable_sort(order_, {}, [&](size_t group) { return values_[group]; });
    for (size_t i = first; i < end; ++i) counted_.add(groups[order_[i]]);
  }

  /// For a step of the run's mean number of samples. The error is Yuen's, of a mean without the
  /// values at the ends.
  [[nodiscard]] StepTime training() const {
    const auto count = static_cast<double>(values_.size());
    const double low = values_[order_[first_]], high = values_[order_[end_ - 1]];
    double mean = 0, squares = 0;
    for (const double value : values_) mean += std::clamp(value, low, high) / count;
    for (const double value : values_) squares += std::pow(std::clamp(value, low, high) - mean, 2);
    const double share = static_cast<double>(end_ - first_) / count;
    return time_of(counted_.training_ns, std::sqrt(squares / (count - 1) / count) / share);
  }
  [[nodiscard]] StepTime part(size_t part) const {
    const auto value = [&](size_t i) {
      const StepGroup& group = groups_[order_[i]];
      return group.part_ns[part] / basis_.weight(group);
    };
    const auto count = static_cast<double>(end_ - first_);
    double mean = 0, squares = 0;
    for (size_t i = first_; i < end_; ++i) mean += value(i) / count;
    for (size_t i = first_; i < end_; ++i) squares += std::pow(value(i) - mean, 2);
    return time_of(counted_.part_ns[part], std::sqrt(squares / std::max(1.0, count - 1) / count));
  }

 private:
  [[nodiscard]] StepTime time_of(double sum_ns, double error) const {
    return {sum_ns / basis_.weight(counted_) * basis_.unit, error * basis_.unit};
  }

  const std::vector<StepGroup>& groups_;
  const Basis& basis_;
  std::vector<double> values_;  // time of each group, for a step or a sample
  std::vector<size_t> order_;
  size_t first_, end_;
  StepGroup counted_;
};

// Hooks that see the forward pass also see waits for other ranks (those of torch.distributed's Work
// and of DistributedDataParallel), evaluations and checkpoints. A job in which they saw none is
// compared with one that has them.
bool is_known(const RankRun& rank, size_t part) {
  const bool may_be_none =
      is_seldom(part) || part == static_cast<size_t>(LogPart::kCommunicationWait);
  return rank.sees[part] || (may_be_none && rank.sees_part(LogPart::kForward));
}

StepFigures figures_of(const CountedGroups& counted, const RankRuns& ranks) {
  StepFigures figures;
  figures.step = counted.training();
  double rest = figures.step.ns;
  for (size_t part = 0; part < kLogParts; ++part) {
    const auto knows = [part](const RankRun& rank) { return is_known(rank, part); };
    if (is_seldom(part) || !std::ranges::all_of(ranks, knows)) continue;
    figures.parts[part] = counted.part(part);
    rest -= figures.parts[part]->ns;
  }
  figures.parts[kLogParts] = StepTime{std::max(0.0, rest), figures.step.error_ns};
  return figures;
}

// Whether most of what other steps take longer than the fastest ones is waiting for the loader.
// Then they are slow by the job's own doing, and the fastest steps tell nothing of its speed.
bool wait_for_data(const StepFigures& all, const StepFigures& fastest) {
  constexpr auto kWait = static_cast<size_t>(LogPart::kDataWait);
  if (!all.parts[kWait]) return false;
  const double longer_ns = all.step.ns - fastest.step.ns;
  return all.parts[kWait]->ns - fastest.parts[kWait]->ns > longer_ns / 2;
}

// One rank alone may evaluate and save; then the others wait for it.
void add_seldom(StepFigures& figures, const StepGroup& all, const Basis& basis,
                const RankRuns& ranks) {
  for (const LogPart seldom : kSeldomParts) {
    const auto part = static_cast<size_t>(seldom);
    const auto knows = [part](const RankRun& rank) { return is_known(rank, part); };
    if (std::ranges::none_of(ranks, knows)) continue;
    const double ns = all.part_ns[part] / basis.weight(all) * basis.unit;
    figures.parts[part] = StepTime{ns, 0};
    figures.step.ns += ns;
  }
}

void write_pauses(RunFigures& run, const StepGroup& all, const RankRuns& ranks) {
  for (const LogPart seldom : kSeldomParts) {
    const auto part = static_cast<size_t>(seldom);
    for (const RankRun& rank : ranks) {
      const Pauses& pauses = rank.pauses[part];
      if (pauses.count == 0) continue;
      const double one_ns = pauses.sum_ns / static_cast<double>(pauses.count);
      const double regular_ns = pauses.period > 0 ? one_ns / static_cast<double>(pauses.period) : 0;
      run.pause_ns[part] = std::max(run.pause_ns[part], one_ns / all.steps);
      run.regular_ns[part] = std::max(run.regular_ns[part], regular_ns);
    }
  }
}

std::optional<double> most_memory(const RankRuns& ranks, int64_t RankRun::*bytes) {
  int64_t most = kUnseen;
  for (const RankRun& rank : ranks) most = std::max(most, rank.*bytes);
  return most > 0 ? std::optional(static_cast<double>(most)) : std::nullopt;
}

}  // namespace

std::optional<RunFigures> run_figures(RankRuns ranks) {
  std::erase_if(ranks, [](const RankRun& rank) { return rank.blocks.empty(); });
  if (ranks.empty()) return std::nullopt;
  const std::vector<double> shares = counted_shares(ranks);
  for (size_t r = 0; r < ranks.size(); ++r) {
    for (RunBlock& block : ranks[r].blocks) block.all.samples *= shares[r];
  }
  std::vector<StepGroup> blocks = blocks_of(ranks);
  const std::vector<StepGroup> groups = joined(blocks);
  const StepGroup all = sum_of(groups);
  RunFigures run;
  run.steps = std::llround(all.steps);
  if (groups.size() < kFewestGroups || run.steps < kFewestRunSteps) return std::nullopt;
  run.path = ranks.front().path;
  run.begin_ns = ranks.front().begin_ns;
  run.ranks = std::ssize(ranks);
  run.world_size = ranks.front().world_size;
  for (const RankRun& rank : ranks) {
    run.rank_numbers.push_back(rank.rank);
    run.other_logs += rank.other_logs;
    run.end_step = std::max(run.end_step, rank.end_step);
    run.is_whole = run.is_whole && rank.ended && rank.exit_status.value_or(0) == 0;
  }

  const auto has_samples = [](const StepGroup& group) { return group.samples > 0; };
  Basis basis;
  basis.per_sample = std::ranges::all_of(ranks, &RankRun::sees_samples) &&
                     std::ranges::all_of(groups, has_samples);
  if (basis.per_sample) run.samples = basis.unit = all.samples / all.steps;
  const size_t cut = groups.size() / 4;
  run.all_steps = figures_of(CountedGroups(groups, basis, cut, groups.size() - cut), ranks);
  run.mean_steps = figures_of(CountedGroups(groups, basis, 0, groups.size()), ranks);
  run.group_steps = all.steps / static_cast<double>(groups.size());
  run.block_steps = all.steps / static_cast<double>(blocks.size());
  run.host_bytes = most_memory(ranks, &RankRun::most_host_bytes);
  run.device_bytes = most_memory(ranks, &RankRun::most_device_bytes);
  std::erase_if(blocks, [](const StepGroup& block) { return block.is_torn; });
  // The fastest steps of a GPU's job may have launched work for which a later step waits.
  if (!run.device_bytes && blocks.size() >= kFewestBlocks &&
      (!basis.per_sample || std::ranges::all_of(blocks, has_samples))) {
    const auto place = [&](double share) {
      return static_cast<size_t>(share * static_cast<double>(blocks.size()));
    };
    const CountedGroups fastest(blocks, basis, place(kUndisturbedFrom), place(kUndisturbedTo));
    run.undisturbed = figures_of(fastest, ranks);
    if (wait_for_data(run.all_steps, *run.undisturbed)) run.undisturbed.reset();
  }
  add_seldom(run.all_steps, all, basis, ranks);
  add_seldom(run.mean_steps, all, basis, ranks);
  write_pauses(run, all, ranks);
  return run;
}

}  // namespace redline::trace
