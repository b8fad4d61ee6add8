#include "trace/run/slow_steps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/statistics.h"

namespace redline::trace {
namespace {

constexpr size_t kNeighbours = 128;  // steps with which a slow step is compared
constexpr double kLeastExcess = 0.5;
constexpr double kExcessNoises = 6;
constexpr double kMostSlowShare = 0.1;
constexpr double kCatchesUp = 0.9;  // of the usual time: a step that is shorter catches up
constexpr size_t kMostSlow = 4096;

bool has_window(const StepLog& log, const LoggedStep& step) {
  return std::ranges::any_of(log.marks, [&](const LogMark& mark) {
    return mark.kind == LogMarkKind::kWindow && step.begin_ns <= mark.time_ns &&
           mark.time_ns <= step.end_ns();
  });
}

// A host that waited for its GPU launches the next steps ahead, and a loader that had time during a
// stall has batches in store: the next steps are shorter until that is used up.
int64_t caught_up_after(const std::vector<LoggedStep>& steps, size_t slow, double median) {
  double shorter_ns = 0;
  for (size_t i = slow + 1; i < steps.size() && steps[i].steps == 1; ++i) {
    if (steps[i].mean_ns() > kCatchesUp * median) break;
    shorter_ns += median - steps[i].mean_ns();
  }
  return std::llround(shorter_ns);
}

SlowStep slow_step(const LoggedStep& step, double median, const PartTimes& usual) {
  const double excess = static_cast<double>(step.length_ns) - median;
  const PartTimes parts = part_times(step);
  constexpr auto kWait = static_cast<size_t>(LogPart::kCommunicationWait);
  size_t most = 0;
  for (size_t part = 1; part < kLogParts; ++part) {
    if (parts[part] - usual[part] > parts[most] - usual[most]) most = part;
  }
  SlowStep slow;
  slow.step = step.step;
  slow.begin_ns = step.begin_ns;
  slow.length_ns = step.length_ns;
  slow.excess_ns = slow.part_excess_ns = std::llround(excess);
  slow.own_excess_ns = std::llround(excess - std::max(0.0, parts[kWait] - usual[kWait]));
  for (size_t part = 0; part < kLogParts; ++part) {
    slow.longer_ns[part] = static_cast<float>(std::max(0.0, parts[part] - usual[part]));
  }
  if (const double longer = parts[most] - usual[most]; longer >= excess / 2) {
    slow.part = static_cast<LogPart>(most);
    slow.part_excess_ns = std::llround(std::min(longer, excess));
  }
  return slow;
}

// The entries from `begin` to `end` that are slow, if they are few, and the median.
std::pair<std::vector<size_t>, double> outliers_of(const std::vector<LoggedStep>& steps,
                                                   size_t begin, size_t end) {
  std::vector<double> lengths, distances;
  for (size_t i = begin; i < end; ++i) lengths.push_back(steps[i].mean_ns());
  const double median = lengths.empty() ? 0 : upper_median(lengths);
  for (const double length : lengths) distances.push_back(std::abs(length - median));
  const double noise = kDeviationOfMad * (distances.empty() ? 0 : upper_median(distances));
  const double limit = median + std::max(kLeastExcess * median, kExcessNoises * noise);
  std::vector<size_t> found;
  for (size_t i = begin; i < end; ++i) {
    if (steps[i].steps == 1 && steps[i].mean_ns() > limit) found.push_back(i);
  }
  const double most = kMostSlowShare * static_cast<double>(end - begin);
  if (static_cast<double>(found.size()) > most) found.clear();
  return {found, median};
}

PartTimes usual_parts(const std::vector<LoggedStep>& steps, size_t begin, size_t end,
                      const std::vector<bool>& is_slow) {
  PartTimes usual{};
  double count = 0;
  for (size_t i = begin; i < end; ++i) {
    if (is_slow[i]) continue;
    count += static_cast<double>(steps[i].steps);
    const PartTimes parts = part_times(steps[i]);
    for (size_t part = 0; part < kLogParts; ++part) usual[part] += parts[part];
  }
  for (double& part : usual) part /= std::max(count, 1.0);
  return usual;
}

void keep_worst(std::vector<SlowStep>& slow) {
  if (slow.size() > kMostSlow) {
    const auto end = slow.begin() + kMostSlow;
    std::ranges::nth_element(slow, end, std::greater(), &SlowStep::excess_ns);
    slow.erase(end, slow.end());
  }
  std::ranges::sort(slow, {}, &SlowStep::step);
}

}  // namespace

PartTimes part_times(const LoggedStep& step) {
  PartTimes parts{};
  for (size_t i = 0; i < kLogParts; ++i) parts[i] = or_zero(step.part_ns[i]);
  return parts;
}

bool SlowStep::is_in_several_parts() const {
  const float longer = std::accumulate(longer_ns.begin(), longer_ns.end(), 0.0F);
  return !part && 2 * longer > static_cast<float>(excess_ns);
}

std::pair<std::vector<SlowStep>, std::vector<bool>> find_slow_steps(const StepLog& log,
                                                                    size_t warm_up) {
  const std::vector<LoggedStep>& steps = log.steps;
  std::vector<SlowStep> slow;
  std::vector<bool> is_slow(steps.size());
  const size_t chunks = std::max<size_t>(1, (steps.size() - warm_up) / kNeighbours);
  const auto edge = [&](size_t chunk) {
    return warm_up + (steps.size() - warm_up) * chunk / chunks;
  };
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    const auto [found, median] = outliers_of(steps, edge(chunk), edge(chunk + 1));
    if (found.empty()) continue;
    for (const size_t i : found) is_slow[i] = true;
    const PartTimes usual = usual_parts(steps, edge(chunk), edge(chunk + 1), is_slow);
    for (const size_t i : found) {
      if (has_window(log, steps[i])) continue;  // such a step tells nothing of the job
      slow.push_back(slow_step(steps[i], median, usual));
      slow.back().rank = log.rank;
      slow.back().caught_up_ns = caught_up_after(steps, i, median);
    }
  }
  keep_worst(slow);
  return {std::move(slow), std::move(is_slow)};
}

}  // namespace redline::trace
