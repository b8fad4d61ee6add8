#include "tuner/search/batch_stage.h"

#include <algorithm>
#include <cmath>

#include "tuner/search/frontier.h"

namespace redline::tuner {
namespace {

constexpr int kMostJumps = 4;
constexpr int kMostRefinements = 3;
constexpr double kFlatTop = 0.97;  ///< neighbours this near to the best: the peak is flat
constexpr double kWideGap = 1.6;   ///< of neighbouring batch sizes, worth a look between

}  // namespace

bool BatchStage::run() {
  for (const Point& point : points()) {
    if (!try_size(point.batch, "batch")) return false;
  }
  return frontier_again() && jump_to_frontier() && refine();
}

bool BatchStage::try_size(int64_t size, const std::string& why) {
  return walk_.attempt(batch_.name, std::to_string(size), why);
}

/// What fits is known from other worker counts: one trial tells whether it pays now.
bool BatchStage::frontier_again() {
  const Frontier frontier = find_frontier(walk_.history(), walk_.best());
  if (!frontier.largest_ok || *frontier.largest_ok <= walk_.number(batch_, kUsualBatch)) {
    return true;
  }
  if (points().size() > 1) return true;
  return try_size(*frontier.largest_ok, "re-opened batch");
}

bool BatchStage::jump_to_frontier() {
  for (int jump = 0; jump < kMostJumps; ++jump) {
    const Frontier frontier = find_frontier(walk_.history(), walk_.best());
    const std::vector<Point> measured = points();
    // Beyond the peak more batch only costs.
    if (!measured.empty() && measured.back().rate < kFlatTop * walk_.best_rate()) return true;
    const std::optional<int64_t> next = frontier.next(batch_, memory_limit(), affordable());
    if (!next) return true;
    if (!try_size(*next, "batch at the limit")) return false;
  }
  return true;
}

double BatchStage::affordable() const {
  if (settings_.longest_measurement.count() == 0 || !walk_.best_works()) return HUGE_VAL;
  const int ranks = std::max(1, walk_.history().trials().front().result.ranks);
  const FinishedTrial& best = *walk_.history().runs_of(walk_.best()).front();
  const double samples = best.result.throughput->samples_per_s *
                         std::chrono::duration<double>(settings_.longest_measurement).count();
  return samples / static_cast<double>(settings_.steps_a_trial * ranks);
}

/// Batch sizes measured with the incumbent's other knobs, rising.
std::vector<BatchStage::Point> BatchStage::points() const {
  std::vector<Point> result;
  for (const FinishedTrial& trial : walk_.history().trials()) {
    if (!trial.ok()) continue;
    Config all = walk_.history().effective(trial.config);
    Config best = walk_.history().effective(walk_.best());
    const auto size = parse_integer(all[batch_.name]);
    for (const char* name : {"batch_size", "accumulation"}) {
      if (name != batch_.name && !walk_.space().samples_a_step) continue;
      all.erase(name);
      best.erase(name);
    }
    if (size && all == best) result.push_back({*size, trial.score().samples_per_s});
  }
  std::sort(result.begin(), result.end(),
            [](const Point& a, const Point& b) { return a.batch < b.batch; });
  return result;
}

/// Between the best batch size and its neighbours, while the peak is steep and the gap is wide.
bool BatchStage::refine() {
  for (int round = 0; round < kMostRefinements; ++round) {
    const std::optional<int64_t> between = between_neighbours(points());
    if (!between) return true;
    if (!try_size(*between, "between")) return false;
  }
  return true;
}

std::optional<int64_t> BatchStage::between_neighbours(const std::vector<Point>& measured) const {
  const auto best =
      std::max_element(measured.begin(), measured.end(),
                       [](const Point& a, const Point& b) { return a.rate < b.rate; });
  // At the upper end the frontier decides, not the gap below it.
  if (best == measured.end() || best + 1 == measured.end()) return std::nullopt;
  double widest = kWideGap;
  std::optional<int64_t> result;
  const auto consider = [&](const Point& neighbour) {
    const double gap =
        std::max(static_cast<double>(neighbour.batch) / static_cast<double>(best->batch),
                 static_cast<double>(best->batch) / static_cast<double>(neighbour.batch));
    if (gap <= widest || neighbour.rate > kFlatTop * best->rate) return;
    const int64_t middle = batch_.nearest(
        std::sqrt(static_cast<double>(neighbour.batch) * static_cast<double>(best->batch)));
    if (middle == best->batch || middle == neighbour.batch) return;
    widest = gap;
    result = middle;
  };
  consider(*(best + 1));
  if (best != measured.begin()) consider(*(best - 1));
  return result;
}

std::optional<uint64_t> BatchStage::memory_limit() const {
  if (settings_.memory_limit_bytes) return settings_.memory_limit_bytes;
  return walk_.history().trials().front().result.memory_capacity_bytes;
}

}  // namespace redline::tuner
