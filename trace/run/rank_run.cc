#include "trace/run/rank_run.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

#include "base/statistics.h"
#include "base/warm_up.h"

namespace redline::trace {
namespace {

constexpr int64_t kMostBlocks = 256;
constexpr size_t kFewestForSpread = 64;
constexpr size_t kMostReadings = 256;
// Lazy initialisation and the loader's start; the same as autotune's.
constexpr size_t kAlwaysWarmUp = 2;
constexpr size_t kWarmUpSteps = 4096;
constexpr size_t kWarmUpGroups = 64;
constexpr size_t kFewestWarmUp = 50;

double median_of(const std::vector<double>& values) {
  return values.empty() ? 0 : upper_median(values);
}

/// R² of a line fitted to `values` over `causes`; 0 if one of them does not vary.
double explained_by(const std::vector<double>& causes, const std::vector<double>& values) {
  const double count = static_cast<double>(values.size());
  double cause_mean = 0, mean = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    cause_mean += causes[i] / count;
    mean += values[i] / count;
  }
  double cause_variance = 0, variance = 0, together = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double cause_off = causes[i] - cause_mean, off = values[i] - mean;
    cause_variance += cause_off * cause_off;
    variance += off * off;
    together += cause_off * off;
  }
  if (cause_variance <= 0 || variance <= 0) return 0;
  return together * together / cause_variance / variance;
}

// The mean time of a step without evaluating, saving and compiling, which have findings of their
// own.
double training_ns(const LoggedStep& step) {
  double length = static_cast<double>(step.length_ns);
  for (const LogPart part : kSeldomParts) {
    length -= or_zero(step.part(part));
  }
  return length / static_cast<double>(step.steps);
}

/// At most about kMostReadings of them, the last one in any case.
template <typename Reading>
std::vector<Reading> some_of(const std::vector<Reading>& all) {
  std::vector<Reading> some;
  const size_t stride = (all.size() + kMostReadings - 1) / kMostReadings;
  for (size_t i = 0; i < all.size(); i += stride) some.push_back(all[i]);
  if (!all.empty() && (all.size() - 1) % stride != 0) some.push_back(all.back());
  return some;
}

size_t warm_up_entries(const std::vector<LoggedStep>& steps) {
  const size_t least = std::min(kAlwaysWarmUp, steps.size() / 2);
  const size_t count = std::min(kWarmUpSteps, steps.size());
  const size_t groups = std::min(kWarmUpGroups, count);
  if (groups < 8 || steps.front().steps != 1) return least;  // of a minute nobody knows
  std::vector<double> means;
  const auto edge = [&](size_t group) { return count * group / groups; };
  const auto mean = [&](size_t from, size_t to) {
    double sum = 0, number = 0;
    for (size_t i = from; i < to; ++i) {
      sum += static_cast<double>(steps[i].length_ns);
      number += static_cast<double>(steps[i].steps);
    }
    return sum / number;
  };
  for (size_t group = 0; group < groups; ++group) {
    means.push_back(mean(edge(group), edge(group + 1)));
  }
  // The warm-up is at most a tenth of the steps, because a longer one is a run that changes its
  // level. Then it is looked for within the first level.
  constexpr double kSlower = 1.1;
  const size_t most = std::max(std::min(kFewestWarmUp, count / 2), steps.size() / 10);
  size_t end = count, slow = warm_up_values(means);
  while (edge(slow) > most && mean(most, edge(slow)) > kSlower * mean(edge(slow), end)) {
    end = edge(slow);
    means.resize(slow);
    slow = warm_up_values(means);
  }
  const size_t cut = edge(slow);
  const bool is_slower = cut > least && mean(0, cut) > kSlower * mean(cut, end);
  return is_slower ? std::clamp(cut, least, most) : least;
}

class LogSummary {
 public:
  LogSummary(const StepLog& log, RankRun& run) : log_(log), run_(run) {}

  void write() {
    warm_up_ = warm_up_entries(log_.steps);
    std::tie(run_.slow, slow_) = find_slow_steps(log_, warm_up_);
    fill_blocks();
    write_warm_up();
    write_spread();
    write_pauses();
    write_waits();
    write_late();
  }

 private:
  void fill_blocks() {
    run_.first_step = log_.steps.front().step;
    run_.end_step = log_.steps.back().step + log_.steps.back().steps;
    // A block is not shorter than an entry. Several blocks within one joined entry would be equal,
    // as if there were no noise.
    int64_t longest = 1;
    for (const LoggedStep& step : log_.steps) longest = std::max(longest, step.steps);
    while (run_.end_step > kMostBlocks * run_.block_steps || run_.block_steps < longest) {
      run_.block_steps *= 2;
    }
    run_.blocks.resize(
        static_cast<size_t>((run_.end_step + run_.block_steps - 1) / run_.block_steps));
    for (size_t i = 0; i < log_.steps.size(); ++i) {
      const LoggedStep& step = log_.steps[i];
      run_.sees_samples = run_.sees_samples || step.samples != kUnseen;
      run_.sees_tokens = run_.sees_tokens || step.tokens != kUnseen;
      for (size_t part = 0; part < kLogParts; ++part) {
        run_.sees[part] = run_.sees[part] || step.part_ns[part] != kUnseen;
      }
      run_.all.add(step, 1);
      if (step.steps == 1) {
        run_.single_ns += static_cast<double>(step.length_ns);
      } else {
        run_.thinned_before_ns = std::max(run_.thinned_before_ns, step.end_ns());
        run_.thinned_before_step = step.step + step.steps;
      }
      spread_over_blocks(step, i >= warm_up_ && !slow_[i]);
    }
  }

  // Adds the entry to all blocks that it overlaps, because a minute of steps may be longer than a
  // block.
  void spread_over_blocks(const LoggedStep& step, bool is_usual) {
    const int64_t end = step.step + step.steps;
    for (int64_t at = step.step; at < end;) {
      const int64_t index = at / run_.block_steps;
      const int64_t next = std::min(end, (index + 1) * run_.block_steps);
      const double share = static_cast<double>(next - at) / static_cast<double>(step.steps);
      RunBlock& block = run_.blocks[static_cast<size_t>(index)];
      if (block.begin_ns == 0) {
        block.begin_ns =
            step.begin_ns + std::llround(static_cast<double>(at - step.step) * step.mean_ns());
      }
      block.all.add(step, share);
      if (is_usual) block.usual.add(step, share);
      at = next;
    }
  }

  void write_warm_up() {
    std::vector<double> lengths;
    for (size_t i = warm_up_; i < log_.steps.size() && lengths.size() < kWarmUpSteps; ++i) {
      lengths.push_back(log_.steps[i].mean_ns());
    }
    const double usual = median_of(lengths);
    for (size_t i = 0; i < warm_up_; ++i) {
      if (log_.steps[i].steps != 1) continue;  // of a minute nobody knows which steps were slow
      run_.warm_up_steps += log_.steps[i].steps;
      run_.warm_up_lost_ns += std::max(0.0, static_cast<double>(log_.steps[i].length_ns) -
                                                usual * static_cast<double>(log_.steps[i].steps));
    }
  }

  // Uses single steps only. Waiting for other ranks is subtracted, because it tells nothing about
  // this rank's own steps.
  void write_spread() {
    std::vector<double> lengths, tokens, samples;
    std::vector<PartTimes> parts;
    for (size_t i = warm_up_; i < log_.steps.size(); ++i) {
      const LoggedStep& step = log_.steps[i];
      if (slow_[i] || step.steps != 1) continue;
      lengths.push_back(training_ns(step) - or_zero(step.part(LogPart::kCommunicationWait)));
      tokens.push_back(or_zero(step.tokens));
      samples.push_back(or_zero(step.samples));
      parts.push_back(part_times(step));
    }
    if (lengths.size() < kFewestForSpread) return;
    const double count = static_cast<double>(lengths.size());
    double mean = 0;
    PartTimes part_mean{};
    for (size_t i = 0; i < lengths.size(); ++i) {
      mean += lengths[i] / count;
      for (size_t part = 0; part < kLogParts; ++part) part_mean[part] += parts[i][part] / count;
    }
    double variance = 0;
    PartTimes part_together{};
    for (size_t i = 0; i < lengths.size(); ++i) {
      const double off = lengths[i] - mean;
      variance += off * off;
      for (size_t part = 0; part < kLogParts; ++part) {
        part_together[part] += off * (parts[i][part] - part_mean[part]);
      }
    }
    StepSpread& spread = run_.spread;
    if (variance > 0) {
      for (size_t part = 0; part < kLogParts; ++part) {
        spread.part_share[part] = part_together[part] / variance;
      }
    }
    spread.explained_by_tokens = explained_by(tokens, lengths);
    spread.explained_by_samples = explained_by(samples, lengths);
    spread.p10_ns = quantile_of(lengths, 0.1);
    spread.p50_ns = quantile_of(lengths, 0.5);
    spread.p90_ns = quantile_of(lengths, 0.9);
  }

  void write_pauses() {
    for (const LogPart pause : kPauseParts) {
      const auto part = static_cast<size_t>(pause);
      std::vector<int64_t> paused;
      double sum_ns = 0;
      for (const LoggedStep& step : log_.steps) {
        if (step.steps != 1 || or_zero(step.part_ns[part]) <= 0) continue;
        paused.push_back(step.step);
        sum_ns += or_zero(step.part_ns[part]);
      }
      run_.pauses[part] = {std::ssize(paused), sum_ns, period_of(paused)};
    }
  }

  // A loader may start its workers anew for each epoch. Steps that were joined to minutes do not
  // say which of them began one.
  void write_waits() {
    double sum_ns = 0, at_epochs_ns = 0, waits = 0;
    size_t next = 0;
    for (size_t i = 0; i < log_.steps.size(); ++i) {
      while (next < log_.marks.size() && log_.marks[next].time_ns < log_.steps[i].begin_ns) ++next;
      bool begins_epoch = false;
      for (; next < log_.marks.size() && log_.marks[next].time_ns <= log_.steps[i].end_ns();
           ++next) {
        begins_epoch = begins_epoch || log_.marks[next].kind == LogMarkKind::kEpoch;
      }
      if (log_.steps[i].steps != 1 || i < warm_up_) continue;
      const double wait_ns = or_zero(log_.steps[i].part(LogPart::kDataWait));
      sum_ns += wait_ns;
      waits += wait_ns > 0 ? 1 : 0;
      if (begins_epoch) at_epochs_ns += wait_ns;
    }
    run_.waits_at_epochs = at_epochs_ns > sum_ns / 2;
    if (waits > 0) run_.wait_ns = sum_ns / waits;
  }

  void write_late() {
    std::vector<const LoggedStep*> usual;
    std::vector<double> waits, own;
    for (size_t i = warm_up_; i < log_.steps.size(); ++i) {
      if (slow_[i] || log_.steps[i].steps != 1) continue;
      usual.push_back(&log_.steps[i]);
      waits.push_back(or_zero(log_.steps[i].part(LogPart::kCommunicationWait)));
      own.push_back(static_cast<double>(log_.steps[i].length_ns) - waits.back());
    }
    run_.late[kLogParts] = late_of(own, waits);
    for (const LogPart part : kTurnParts) {
      for (size_t i = 0; i < usual.size(); ++i) own[i] = or_zero(usual[i]->part(part));
      run_.late[static_cast<size_t>(part)] = late_of(own, waits);
    }
  }

  // Steps count by the square of the time by which they are late, because the many that are late by
  // a little say nothing.
  static LateSteps late_of(const std::vector<double>& own, const std::vector<double>& waits) {
    const double median = median_of(own);
    double wait_ns = 0, weights = 0, weighted_wait_ns = 0;
    LateSteps late;
    for (size_t i = 0; i < own.size(); ++i) {
      const double late_ns = std::max(0.0, own[i] - median);
      late.sum_ns += late_ns;
      wait_ns += waits[i];
      weights += late_ns * late_ns;
      weighted_wait_ns += late_ns * late_ns * waits[i];
    }
    if (weights > 0) {
      const double others_ns = static_cast<double>(own.size()) * weighted_wait_ns / weights;
      late.waits_less_ns = std::max(0.0, wait_ns - others_ns);
    }
    return late;
  }

  const StepLog& log_;
  RankRun& run_;
  size_t warm_up_ = 0;  // entries
  std::vector<bool> slow_;
};

}  // namespace

void StepSums::add(const LoggedStep& step, double share) {
  steps += share * static_cast<double>(step.steps);
  length_ns += share * static_cast<double>(step.length_ns);
  samples += share * or_zero(step.samples);
  tokens += share * or_zero(step.tokens);
  for (size_t part = 0; part < kLogParts; ++part)
    part_ns[part] += share * or_zero(step.part_ns[part]);
}

void StepSums::add(const StepSums& other) {
  steps += other.steps;
  length_ns += other.length_ns;
  samples += other.samples;
  tokens += other.tokens;
  for (size_t part = 0; part < kLogParts; ++part) part_ns[part] += other.part_ns[part];
}

double StepSums::training_ns() const {
  double mean = length_ns / steps;
  for (const LogPart part : kSeldomParts) mean -= mean_ns(part);
  return mean;
}

void RankRun::coarsen(int64_t steps) {
  const auto factor = static_cast<size_t>(steps / block_steps);
  if (factor <= 1) return;
  std::vector<RunBlock> coarse((blocks.size() + factor - 1) / factor);
  for (size_t i = 0; i < blocks.size(); ++i) {
    RunBlock& block = coarse[i / factor];
    if (block.begin_ns == 0) block.begin_ns = blocks[i].begin_ns;
    block.all.add(blocks[i].all);
    block.usual.add(blocks[i].usual);
  }
  blocks = std::move(coarse);
  block_steps = steps;
}

int64_t period_of(const std::vector<int64_t>& steps) {
  constexpr size_t kFewest = 4;
  if (steps.size() < kFewest) return 0;
  std::vector<int64_t> gaps;
  for (size_t i = 1; i < steps.size(); ++i) gaps.push_back(steps[i] - steps[i - 1]);
  const int64_t period = upper_median(gaps);
  const auto alike = std::ranges::count_if(gaps, [&](int64_t gap) {
    return std::abs(gap - period) <= std::max<int64_t>(period >= 10 ? 1 : 0, period / 50);
  });
  return static_cast<size_t>(alike) * 10 >= gaps.size() * 7 && period > 1 ? period : 0;
}

bool RankRun::is_silent(int64_t now_ns) const {
  constexpr int64_t kSilenceNs = 10'000'000'000;
  return !ended && (is_over || silence_ns(now_ns) > (is_gone ? kBetweenSignsNs : kSilenceNs));
}

RankRun summarise(const StepLog& log) {
  RankRun run;
  run.path = log.path;
  run.run = log.run;
  run.host = log.host;
  run.rank = log.rank;
  run.world_size = log.world_size;
  // The file is opened when the first step has ended.
  run.begin_ns =
      log.steps.empty() ? log.begin_ns : std::min(log.begin_ns, log.steps.front().begin_ns);
  run.ended = log.ended;
  run.exit_status = log.exit_status;
  run.last_sign_ns = log.last_sign_ns;
  // In a second, the time from sign to sign, a rank may pass through all parts many times.
  constexpr int64_t kSurelyInNs = 1'000'000'000;
  if (log.last_sign_ns - log.last_part_since_ns >= kSurelyInNs) run.last_part = log.last_part;
  run.lost_steps = log.lost_steps;
  run.lost_marks = log.lost_marks;
  run.thinned_before_ns = log.thinned_before_ns;
  run.damaged_bytes = log.damaged_bytes;
  run.marks = log.marks;
  run.batches = log.batches;
  run.memory = some_of(log.memory);
  for (const LoggedMemory& memory : log.memory) {
    run.most_host_bytes = std::max(run.most_host_bytes, memory.host_bytes);
    run.most_device_bytes = std::max(run.most_device_bytes, memory.device_bytes);
  }
  std::vector<LoggedCores> known = log.cores;
  std::erase_if(known, [](const LoggedCores& each) {
    return each.cores <= 0 || std::min({each.busy_ns, each.used_ns, each.waited_ns}) < 0;
  });
  // Busy time of other cores is another counter. OpenMP may bind its threads only after a while.
  const int64_t usual = known.empty() ? 0 : known[known.size() / 2].cores;
  std::erase_if(known, [usual](const LoggedCores& each) { return each.cores != usual; });
  run.cores = some_of(known);
  if (log.steps.empty()) return run;
  run.end_ns = log.steps.back().end_ns();
  LogSummary(log, run).write();
  return run;
}

}  // namespace redline::trace
