#include "trace/analysis/clock_alignment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/format.h"
#include "base/root_of_squares.h"
#include "base/statistics.h"

namespace redline::trace {
namespace {

constexpr int kMaxRounds = 20;
// An end that lies this many standard deviations away is an outlier. The standard deviation is
// estimated from the median absolute deviation (MAD).
constexpr double kOutlierSpreads = 5;
constexpr int64_t kLeastSpreadNs = 1'000;
constexpr int64_t kLeastDriftSpanNs = 1'000'000'000;
constexpr size_t kLeastDriftPairs = 20;
constexpr double kWakeUpNs = 100'000;  // a rank that waited leaves so much later; 65 us were seen
constexpr double kMostDrift = 1e-3;    // quartz clocks differ by less than 100 ppm

// The end of one collective on the rank's own clock, and how far the reference's clock is ahead.
// Both are differences from a first guess, so they are small numbers that doubles hold exactly.
struct Point {
  int64_t time_ns;
  int64_t ahead_ns;
  const CollectiveEnds* pair;
};

int64_t ahead_ns(const CollectiveEnds& pair) { return pair.reference.end_ns - pair.rank.end_ns; }

int64_t first_guess_ns(std::span<const CollectiveEnds> pairs) {
  std::vector<int64_t> all;
  for (const CollectiveEnds& pair : pairs) all.push_back(ahead_ns(pair));
  return upper_median(std::move(all));
}

double quantile(const std::vector<double>& values, double share) {
  const double place = share * static_cast<double>(values.size() - 1) + 0.5;
  return sorted_value(values, static_cast<size_t>(place));
}

double median(std::vector<double> values) {
  const size_t half = values.size() / 2;
  const auto upper = values.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(values.begin(), upper, values.end());
  if (values.size() % 2 != 0) return *upper;
  return (*upper + *std::max_element(values.begin(), upper)) / 2;
}

class Fit {
 public:
  explicit Fit(std::vector<Point> points) : points_(std::move(points)) {}

  // Takes the median and removes what lies far from it, until nothing does any more.
  void settle() {
    for (int round = 0; round < kMaxRounds; ++round) {
      const auto rests = residuals();
      offset_ = median(rests);
      std::vector<double> distances;
      for (const double rest : rests) distances.push_back(std::abs(rest - offset_));
      const double limit = std::max(kOutlierSpreads * kDeviationOfMad * median(distances),
                                    static_cast<double>(kLeastSpreadNs));
      std::vector<Point> near;
      for (size_t i = 0; i < points_.size(); ++i) {
        if (distances[i] <= limit) near.push_back(points_[i]);
      }
      if (near.size() == points_.size()) return;
      points_ = std::move(near);
    }
  }

  // Fits a line by least squares to what settle() left; kept only if the slope is more than three
  // times its error.
  void find_drift() {
    if (points_.size() < kLeastDriftPairs) return;
    const auto [first, last] = std::ranges::minmax_element(points_, {}, &Point::time_ns);
    if (last->time_ns - first->time_ns < kLeastDriftSpanNs) return;
    const auto count = static_cast<double>(points_.size());
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (const Point& point : points_) mean_x += x(point) / count, mean_y += y(point) / count;
    for (const Point& point : points_) {
      const double dx = x(point) - mean_x, dy = y(point) - mean_y;
      xx += dx * dx, xy += dx * dy, yy += dy * dy;
    }
    const double slope = xy / xx;
    const double error = std::sqrt(std::max(0.0, yy - slope * xy) / (count - 2) / xx);
    if (std::abs(slope) > 3 * error && std::abs(slope) < kMostDrift) drift_ = slope;
  }

  // Who waits for the other is woken up later than that one leaves. So the ends where the reference
  // was last and those where the rank was last lie on both sides of the offset. Without both, all
  // ends may be shifted by a wake-up, but hardly by more than the fastest exchange of data takes.
  void weigh_by_order() {
    constexpr size_t kFewest = 3;
    constexpr double kTie = 0.1;
    const auto rests = residuals();
    const double shortest_ns = shortest_call();
    std::array<std::vector<double>, 2> sides;
    for (size_t i = 0; i < points_.size(); ++i) {
      const auto& [reference, rank] = *points_[i].pair;
      // Both begins are seen from their ends, which differ by `rests` and the offset.
      const double later = rests[i] - offset_ + length(rank) - length(reference);
      const bool is_tie = std::abs(later) < kTie * shortest_ns;  // neither waits
      sides[is_tie ? i % 2 : later > 0 ? 0 : 1].push_back(rests[i]);
    }
    if (std::min(sides[0].size(), sides[1].size()) < kFewest) {
      shift_ = std::min(shortest_ns, kWakeUpNs);
      scatter_ = spread_of(rests) / std::sqrt(static_cast<double>(rests.size()));
      return;
    }
    const double first = median(sides[0]), second = median(sides[1]);
    offset_ = (first + second) / 2;
    shift_ = std::abs(first - second) / 2;
    for (double& rest : sides[0]) rest -= first;
    for (const double rest : sides[1]) sides[0].push_back(rest - second);
    const auto count = static_cast<double>(sides[1].size());
    const double other = static_cast<double>(rests.size()) - count;
    scatter_ = spread_of(sides[0]) * std::sqrt(1 / count + 1 / other) / 2;
  }

  // 0.93 IQR / sqrt(n) is the standard error of a median of normal scatter; twice that is 95 %.
  [[nodiscard]] double uncertainty() const { return root_of_squares(2 * 0.93 * scatter_, shift_); }

  [[nodiscard]] double offset() const { return offset_; }
  [[nodiscard]] double drift() const { return drift_; }
  [[nodiscard]] size_t size() const { return points_.size(); }

  // The offsets at `at_ns` that cause and effect allow: neither rank ends before the other begins.
  [[nodiscard]] Interval possible_offsets() const {
    Interval possible{INT64_MIN, INT64_MAX};
    for (const Point& point : points_) {
      const auto& [reference, rank] = *point.pair;
      const int64_t drifted_ns = std::llround(drift_ * x(point));
      possible.begin_ns =
          std::max(possible.begin_ns, reference.begin_ns - rank.end_ns - drifted_ns);
      possible.end_ns = std::min(possible.end_ns, reference.end_ns - rank.begin_ns - drifted_ns);
    }
    return possible;
  }

 private:
  [[nodiscard]] static double x(const Point& point) { return static_cast<double>(point.time_ns); }
  [[nodiscard]] static double y(const Point& point) { return static_cast<double>(point.ahead_ns); }
  [[nodiscard]] std::vector<double> residuals() const {
    std::vector<double> rests;
    for (const Point& point : points_) rests.push_back(y(point) - drift_ * x(point));
    return rests;
  }

  [[nodiscard]] static double length(const Interval& call) {
    return static_cast<double>(call.end_ns - call.begin_ns);
  }
  [[nodiscard]] double shortest_call() const {
    double shortest_ns = std::numeric_limits<double>::infinity();
    for (const Point& point : points_) {
      shortest_ns =
          std::min({shortest_ns, length(point.pair->reference), length(point.pair->rank)});
    }
    return shortest_ns;
  }
  [[nodiscard]] static double spread_of(const std::vector<double>& rests) {
    if (rests.size() < 4) return quantile(rests, 1) - quantile(rests, 0);
    return quantile(rests, 0.75) - quantile(rests, 0.25);
  }

  std::vector<Point> points_;
  double offset_ = 0;
  double drift_ = 0;
  double scatter_ = 0;  // of the offset, if each end scatters independently: IQR / sqrt(n)
  double shift_ = 0;    // what may be common to all ends
};

int64_t resolution_ns(std::span<const CollectiveEnds> pairs) {
  const bool whole_microseconds = std::ranges::all_of(pairs, [](const CollectiveEnds& pair) {
    return pair.reference.end_ns % 1000 == 0 && pair.rank.end_ns % 1000 == 0;
  });
  return whole_microseconds ? 1000 : 1;
}

// Differences of plausible times do not overflow. Others cannot be times, whatever the file says.
bool is_plausible(const MatchedCollective::Call& call) {
  constexpr int64_t kMostNs = INT64_MAX / 4;  // 73 years from 1970 on
  return call.begin_ns > -kMostNs && call.end_ns < kMostNs && call.begin_ns <= call.end_ns;
}

// Null if the rank has no such call.
const MatchedCollective::Call* call_of(const MatchedCollective& collective, uint32_t rank) {
  const auto& calls = collective.calls;
  const auto found =
      std::ranges::lower_bound(calls, rank, {}, [](const auto& one) { return one.rank; });
  return found == calls.end() || found->rank != rank ? nullptr : &*found;
}

std::vector<CollectiveEnds> pairs_of(uint32_t reference, uint32_t rank,
                                     const MatchedCollectives& matched, const ClockOffset& known) {
  std::vector<CollectiveEnds> pairs;
  for (const MatchedCollective& collective : matched.collectives) {
    const auto *of_reference = call_of(collective, reference), *of_rank = call_of(collective, rank);
    if (of_reference == nullptr || of_rank == nullptr) continue;
    const auto on_first = [&](int64_t time_ns) { return time_ns + known.at(time_ns); };
    if (!is_plausible(*of_reference) || !is_plausible(*of_rank)) continue;
    pairs.push_back({{on_first(of_reference->begin_ns), on_first(of_reference->end_ns)},
                     {of_rank->begin_ns, of_rank->end_ns}});
  }
  return pairs;
}

}  // namespace

int64_t ClockOffset::at(int64_t time_ns) const {
  if (drift == 0) return offset_ns;
  return offset_ns +
         std::llround(drift * (static_cast<double>(time_ns) - static_cast<double>(at_ns)));
}

std::string offset_text(const ClockOffset& clock) {
  if (clock.offset_ns == 0 && clock.pairs == 0) return clock.is_reference() ? "0" : "same host";
  return (clock.offset_ns < 0 ? "-" : "+") + format_ns(std::abs(clock.offset_ns)) + " ± " +
         format_ns(clock.uncertainty_ns);
}

std::optional<ClockOffset> estimate_offset(std::span<const CollectiveEnds> pairs) {
  if (pairs.empty()) return std::nullopt;
  std::vector<Point> points;
  ClockOffset result;
  result.at_ns = pairs[pairs.size() / 2].rank.end_ns;
  const int64_t guess_ns = first_guess_ns(pairs);
  for (const CollectiveEnds& pair : pairs) {
    points.push_back({pair.rank.end_ns - result.at_ns, ahead_ns(pair) - guess_ns, &pair});
  }
  Fit fit(std::move(points));
  fit.settle();
  fit.find_drift();
  if (fit.drift() != 0) fit.settle();
  fit.weigh_by_order();
  result.drift = fit.drift();
  result.pairs = static_cast<int64_t>(fit.size());
  result.outliers = static_cast<int64_t>(pairs.size()) - result.pairs;
  result.offset_ns = guess_ns + std::llround(fit.offset());
  result.uncertainty_ns = std::llround(std::ceil(fit.uncertainty()));

  const Interval possible = fit.possible_offsets();
  if (possible.begin_ns <= possible.end_ns) {  // else some pair was matched wrongly
    result.offset_ns = std::clamp(result.offset_ns, possible.begin_ns, possible.end_ns);
    const int64_t reach_ns =
        std::max(result.offset_ns - possible.begin_ns, possible.end_ns - result.offset_ns);
    const bool is_scatter_known = fit.size() >= 3;
    result.uncertainty_ns = is_scatter_known ? std::min(result.uncertainty_ns, reach_ns) : reach_ns;
  }
  result.uncertainty_ns = std::max(result.uncertainty_ns, resolution_ns(pairs));
  return result;
}

std::optional<ClockOffset> offset_on_one_host(const HostClock& reference, const HostClock& rank) {
  // Hosts of one name that were started at other times are not one host. Neither is known if
  // somebody sets the time of day between the starts of two ranks.
  constexpr int64_t kSameStartNs = 10'000'000;
  constexpr int64_t kReadingNs = 1'000;  // of the two clocks, one after the other
  if (reference.host.empty() || reference.host != rank.host) return std::nullopt;
  if (!reference.offset_ns || !rank.offset_ns) return std::nullopt;
  const int64_t offset_ns = *reference.offset_ns - *rank.offset_ns;
  if (std::abs(offset_ns) > kSameStartNs) return std::nullopt;
  return ClockOffset{.offset_ns = std::abs(offset_ns) <= kReadingNs ? 0 : offset_ns,
                     .uncertainty_ns = kReadingNs};
}

namespace {

std::vector<std::optional<ClockOffset>> align_with(uint32_t reference,
                                                   std::span<const RankCollectives* const> ranks,
                                                   const MatchedCollectives& matched) {
  std::vector<std::optional<ClockOffset>> offsets(ranks.size());
  offsets[reference] = ClockOffset{};
  // Works in rounds: first the ranks that share a host or a group with the reference, then those
  // that share one with them.
  std::vector<uint32_t> reached = {reference};
  for (size_t next = 0; next < reached.size(); ++next) {
    const ClockOffset via = *offsets[reached[next]];
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      if (offsets[rank]) continue;
      auto offset = offset_on_one_host(ranks[reached[next]]->clock, ranks[rank]->clock);
      if (offset) {
        offset->at_ns = via.at_ns - offset->offset_ns;
        offset->offset_ns += via.offset_ns;
        offset->drift = via.drift;
        offset->pairs = via.pairs;
      } else {
        offset = estimate_offset(pairs_of(reached[next], rank, matched, via));
      }
      if (!offset) continue;
      offset->uncertainty_ns = std::llround(root_of_squares(
          static_cast<double>(offset->uncertainty_ns), static_cast<double>(via.uncertainty_ns)));
      offsets[rank] = offset;
      reached.push_back(rank);
    }
  }
  return offsets;
}

}  // namespace

std::vector<std::optional<ClockOffset>> align_clocks(std::span<const RankCollectives* const> ranks,
                                                     const MatchedCollectives& matched) {
  if (ranks.empty()) return {};
  auto offsets = align_with(0, ranks, matched);
  const auto is_known = [](const auto& offset) { return offset.has_value(); };
  const bool is_alone = ranks.size() > 1 && std::ranges::count_if(offsets, is_known) == 1;
  if (!is_alone || matched.collectives.empty()) return offsets;
  return align_with(matched.collectives.front().calls.front().rank, ranks, matched);
}

}  // namespace redline::trace
