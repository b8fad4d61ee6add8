#include "tuner/trial/measurement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/sample_shares.h"
#include "base/warm_up.h"

namespace redline::tuner {

namespace {

// Points; lazy initialisation and the loader's start make them slow.
constexpr size_t kAlwaysDropped = 2;
constexpr size_t kMostBlocks = 20;
constexpr size_t kFewestBlocks = 4;
constexpr double kManyLooks = 1.5;          // times the interval's half-width
constexpr double kLeastOfTimeBehind = 0.1;  // share of measure_for
constexpr double kNoticedDrift = 0.1;
// While workers that are half as fast as the loop go on making batches, a stock lasts so long.
constexpr int64_t kStocks = 2;
constexpr double kWaited = 0.25;  // share of a step; whoever waits so long has no stock

/// Cuts the points `first` to `last` into `blocks` runs of nearly equal length; returns the first
/// point of each run, and `last`.
std::vector<size_t> block_edges(size_t first, size_t last, size_t blocks) {
  std::vector<size_t> edges;
  for (size_t i = 0; i <= blocks; ++i) edges.push_back(first + (last - first) * i / blocks);
  return edges;
}

}  // namespace

/// The measurement without its warm-up.
struct Measurement::Steady {
  int64_t time_ns = 0;
  bool is_past_stock = true;  ///< false while it may be all of batches that were made ahead
  Window window;
  Throughput throughput;
  double half_width = 0;       ///< of the interval, relative to the mean
  std::vector<double> blocks;  ///< seconds a sample
};

void Measurement::add(const StepReport& report) {
  // So the batches before this training were an evaluation.
  if (is_inference_ && !report.inference) {
    ranks_.clear();
    ahead_.clear();
    first_ns_ = 0;
  }
  is_inference_ = report.inference;
  is_undecided_ = report.inference && report.may_train && !plan_.infers;
  world_size_ = std::max(world_size_, report.world_size);
  first_ns_ = first_ns_ == 0 ? report.time_ns : std::min(first_ns_, report.time_ns);
  latest_ns_ = std::max(latest_ns_, report.time_ns);
  // An evaluation before the training only shows that the job lives.
  if (report.inference && plan_.infers == false) return;
  if (!report.batches_digest.empty()) digests_[report.rank] = report.batches_digest;
  if (report.batches_ahead > 0) ahead_[report.rank] = report.batches_ahead;
  Series& series = ranks_[report.rank];
  const Point point{report.time_ns,       report.steps,        static_cast<double>(report.samples),
                    report.evaluation_ns, report.data_wait_ns, report.tokens,
                    report.batches_ns};
  // Totals and clocks only grow. A report in which they do not is from a second process that has
  // the same rank, such as a launcher's retry.
  if (series.empty() ||
      (point.steps > series.back().steps && point.time_ns > series.back().time_ns &&
       point.samples > series.back().samples)) {
    series.push_back(point);
  }
}

int64_t Measurement::steps() const {
  if (ranks_.empty() || std::cmp_less(ranks_.size(), world_size_)) return 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const auto& [rank, series] : ranks_) least = std::min(least, series.back().steps);
  return least;
}

/// The median of `of(before, after)` over all pairs of successive reports of a rank.
template <typename Value>
int64_t Measurement::median(Value of) const {
  std::vector<int64_t> values;
  for (const auto& [rank, series] : ranks_) {
    for (size_t i = 1; i < series.size(); ++i) values.push_back(of(series[i - 1], series[i]));
  }
  return values.empty() ? 0 : upper_median(std::move(values));
}

int64_t Measurement::median_step_ns() const {
  return median([](const Point& before, const Point& after) {
    return (after.time_ns - before.time_ns) / (after.steps - before.steps);
  });
}

int64_t Measurement::median_step_samples() const {
  const int64_t of_rank = median([](const Point& before, const Point& after) {
    return std::llround((after.samples - before.samples) /
                        static_cast<double>(after.steps - before.steps));
  });
  return readers() * of_rank;
}

int Measurement::readers() const {
  if (ranks_.empty()) return world_size_;
  return static_cast<int>(std::lround(world_size_ * mean_of(shares())));
}

/// What sample_shares() gives for each rank that has reported.
std::vector<double> Measurement::shares() const {
  std::vector<std::string> digests;
  for (const auto& [rank, series] : ranks_) {
    const auto known = digests_.find(rank);
    digests.push_back(known == digests_.end() ? "" : known->second);
  }
  return sample_shares(digests);
}

std::optional<double> Measurement::data_wait_share() const {
  int64_t waited = 0;
  int64_t time = 0;
  for (const auto& [rank, series] : ranks_) {
    const Point& first = series.front();
    const Point& last = series.back();
    if (!first.data_wait_ns || !last.data_wait_ns) continue;
    waited += *last.data_wait_ns - *first.data_wait_ns;
    time += last.time_ns - first.time_ns - (last.evaluation_ns - first.evaluation_ns);
  }
  if (time <= 0) return std::nullopt;
  return std::clamp(static_cast<double>(waited) / static_cast<double>(time), 0.0, 1.0);
}

std::optional<double> Measurement::tokens_per_sample() const {
  int64_t tokens = 0;
  double samples = 0;
  for (const auto& [rank, series] : ranks_) {
    const Point& first = series.front();
    const Point& last = series.back();
    if (!first.tokens || !last.tokens) return std::nullopt;
    tokens += *last.tokens - *first.tokens;
    samples += last.samples - first.samples;
  }
  if (samples <= 0) return std::nullopt;
  return static_cast<double>(tokens) / samples;
}

std::optional<Latency> Measurement::latency(int64_t least_steps) const {
  const auto measured = window(least_steps);
  if (!is_inference_ || !measured || measured->spans.empty()) return std::nullopt;
  std::vector<int64_t> batches_ns;
  for (const auto& [rank, series] : ranks_) {
    for (const Point& point : series) {
      if (point.time_ns <= measured->spans.front().begin_ns) continue;
      batches_ns.insert(batches_ns.end(), point.batches_ns.begin(), point.batches_ns.end());
    }
  }
  return latency_of(batches_ns);
}

/// A rank's totals at a time between two of its reports, interpolated. `right` is the later of
/// them; it only grows, so times must be asked for in order.
Measurement::Point Measurement::totals_at(int64_t time_ns, const Series& series, size_t& right) {
  while (series[right].time_ns < time_ns) ++right;
  if (right == 0) return series.front();
  const Point& after = series[right];
  const Point& before = series[right - 1];
  const double share = static_cast<double>(time_ns - before.time_ns) /
                       static_cast<double>(after.time_ns - before.time_ns);
  const auto evaluation = static_cast<double>(after.evaluation_ns - before.evaluation_ns);
  return {.time_ns = time_ns,
          .steps = after.steps,
          .samples = before.samples + share * (after.samples - before.samples),
          .evaluation_ns = before.evaluation_ns + std::llround(share * evaluation)};
}

/// The totals of all ranks together at the times of the first rank's reports, as far as every rank
/// has reported. If only some ranks evaluate, the others wait for them, so the longest evaluation
/// counts.
Measurement::Series Measurement::combined() const {
  Series sum;
  if (steps() == 0) return sum;
  int64_t begin = 0;
  int64_t end = std::numeric_limits<int64_t>::max();
  for (const auto& [rank, series] : ranks_) {
    begin = std::max(begin, series.front().time_ns);
    end = std::min(end, series.back().time_ns);
  }
  const std::vector<double> shares = this->shares();
  std::map<int, size_t> next;
  for (const Point& point : ranks_.begin()->second) {
    if (point.time_ns < begin || point.time_ns > end) continue;
    Point all{.time_ns = point.time_ns, .steps = point.steps, .samples = 0};
    auto share = shares.begin();
    for (const auto& [rank, series] : ranks_) {
      const Point own = totals_at(point.time_ns, series, next[rank]);
      all.samples += *share++ * own.samples;
      all.evaluation_ns = std::max(all.evaluation_ns, own.evaluation_ns);
    }
    sum.push_back(all);
  }
  return sum;
}

double Measurement::batches(const Point& from, const Point& to) const {
  return batch_size_ > 0 ? (to.samples - from.samples) / static_cast<double>(batch_size_)
                         : static_cast<double>(to.steps - from.steps);
}

/// When each rank had taken `stocks` times what its workers may have made ahead before its first
/// report, or waited for a batch; then none was left. The largest time as long as that is not so,
/// and 0 if no rank says that batches are made ahead.
int64_t Measurement::made_ahead_until_ns(int64_t stocks) const {
  int64_t until = 0;
  for (const auto& [rank, ahead] : ahead_) {
    const Series& series = ranks_.at(rank);
    const auto made_ahead = static_cast<double>(stocks * ahead);
    const auto is_used_up = [&](const Point& before, const Point& now) {
      const bool waited = before.data_wait_ns && now.data_wait_ns &&
                          static_cast<double>(*now.data_wait_ns - *before.data_wait_ns) >=
                              kWaited * static_cast<double>(now.time_ns - before.time_ns);
      return waited || batches(series.front(), now) >= made_ahead;
    };
    const auto last = std::ranges::adjacent_find(series, is_used_up);
    until = std::max(until, last == series.end() ? std::numeric_limits<int64_t>::max()
                                                 : std::next(last)->time_ns);
  }
  return until;
}

double Measurement::Window::seconds() const {
  int64_t sum = 0;
  for (const Span& span : spans) sum += span.end_ns - span.begin_ns;
  return 1e-9 * static_cast<double>(sum);
}

Measurement::Window Measurement::trained(const Series& all, size_t first) {
  Window window;
  for (size_t i = first + 1; i < all.size(); ++i) {
    const Point& before = all[i - 1];
    const Point& after = all[i];
    if (after.evaluation_ns > before.evaluation_ns) continue;
    if (window.spans.empty() || window.spans.back().end_ns != before.time_ns) {
      window.spans.push_back({before.time_ns, before.time_ns});
    }
    window.spans.back().end_ns = after.time_ns;
    window.samples += after.samples - before.samples;
  }
  return window;
}

/// The first point after the batches that were made ahead, or after the planned time if they last
/// longer; nullopt while too little comes after it. A job that ends by then is measured with them.
std::optional<size_t> Measurement::past_stock(const Series& all) const {
  const int64_t latest_ns = all.front().time_ns + int64_t{plan_.measure_for.count()};
  const int64_t until = std::min(made_ahead_until_ns(kStocks), latest_ns);
  if (until == 0) return 0;
  const auto found = std::ranges::lower_bound(all, until, {}, &Point::time_ns);
  // Of the points after it, warm-up may take half.
  if (all.end() - found <= 2 * static_cast<ptrdiff_t>(kFewestBlocks)) return std::nullopt;
  return static_cast<size_t>(found - all.begin());
}

std::optional<Measurement::Steady> Measurement::steady(int64_t least_steps) const {
  const Series all = combined();
  if (all.size() < kAlwaysDropped + kFewestBlocks + 1) return std::nullopt;
  const size_t last = all.size() - 1;
  const std::optional<size_t> past_stock = this->past_stock(all);
  const size_t dropped = std::max(kAlwaysDropped, past_stock.value_or(0));
  const auto training_ns = [&](size_t from, size_t to) {
    return all[to].time_ns - all[from].time_ns - (all[to].evaluation_ns - all[from].evaluation_ns);
  };
  const auto seconds_per_sample = [&](size_t from, size_t to) {
    return static_cast<double>(training_ns(from, to)) * 1e-9 /
           (all[to].samples - all[from].samples);
  };
  const auto values_of = [&](const std::vector<size_t>& edges) {
    std::vector<double> values;
    for (size_t i = 1; i < edges.size(); ++i) {
      values.push_back(seconds_per_sample(edges[i - 1], edges[i]));
    }
    return values;
  };
  const auto fine = block_edges(dropped, last, std::min(last - dropped, size_t{64}));
  const size_t first = fine[warm_up_values(values_of(fine))];
  const size_t blocks = std::clamp((last - first) / 2, kFewestBlocks, kMostBlocks);
  if (last - first < blocks || all[last].steps - all[first].steps < least_steps ||
      training_ns(first, last) <= 0) {
    return std::nullopt;
  }
  const auto values = values_of(block_edges(first, last, blocks));
  const double mean = mean_of(values);
  const double count = static_cast<double>(blocks);
  const double error = std::sqrt(squares_about_mean(values) / (count - 1) / count);
  Steady result;
  result.time_ns = training_ns(first, last);
  result.is_past_stock = past_stock.has_value();
  result.window = trained(all, first);
  result.window.steps = all[last].steps - all[first].steps;
  result.half_width = student_t(count - 1) * error / mean;
  result.blocks = values;
  const double rate = 1 / seconds_per_sample(first, last);
  result.throughput = {rate, rate / (1 + result.half_width),
                       rate * (1 + std::min(result.half_width, 1.0))};
  return result;
}

std::optional<Throughput> Measurement::estimate(int64_t least_steps) const {
  const auto result = steady(least_steps);
  if (!result) return std::nullopt;
  return result->throughput;
}

std::optional<Measurement::Window> Measurement::window(int64_t least_steps) const {
  const auto result = steady(least_steps);
  if (!result) return std::nullopt;
  return result->window;
}

bool Measurement::complete() const {
  if (is_undecided_) return false;
  const auto result = steady(plan_.min_steps);
  if (!result || !result->is_past_stock) return false;
  const double whole = static_cast<double>(plan_.measure_for.count());
  const double measured = static_cast<double>(result->time_ns);
  return measured >= whole ||
         (result->half_width <= plan_.enough && measured >= whole * plan_.least_of_time);
}

bool Measurement::behind() const {
  if (plan_.rate_to_beat <= 0 || is_undecided_) return false;
  const auto result = steady(plan_.min_steps);
  if (!result) return false;
  const double whole = static_cast<double>(plan_.measure_for.count());
  const double rate = result->throughput.samples_per_s;
  return static_cast<double>(result->time_ns) >= whole * kLeastOfTimeBehind &&
         rate * (1 + kManyLooks * result->half_width) < plan_.rate_to_beat;
}

bool Measurement::covers_batches_made_ahead(int64_t least_steps) const {
  const auto measured = window(least_steps);
  return measured && !measured->spans.empty() &&
         measured->spans.front().begin_ns < made_ahead_until_ns(1);
}

double Measurement::drift() const {
  const auto result = steady(plan_.min_steps);
  if (!result || result->blocks.size() < 2 * kFewestBlocks) return 0;
  const std::vector<double>& blocks = result->blocks;
  const size_t middle = blocks.size() / 2;
  const std::vector<double> early(blocks.begin(), blocks.begin() + static_cast<ptrdiff_t>(middle));
  const std::vector<double> late(blocks.begin() + static_cast<ptrdiff_t>(middle), blocks.end());
  const double before = mean_of(early);
  const double after = mean_of(late);
  const double degrees = static_cast<double>(blocks.size() - 2);
  const double variance = (squares_about_mean(early) + squares_about_mean(late)) / degrees;
  const double error = std::sqrt(
      variance * (1 / static_cast<double>(early.size()) + 1 / static_cast<double>(late.size())));
  const double change = before / after - 1;
  const bool chance = std::abs(after - before) <= student_t(degrees) * error;
  return chance || std::abs(change) < kNoticedDrift ? 0 : change;
}

}  // namespace redline::tuner
