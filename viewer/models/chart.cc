#include "viewer/models/chart.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

constexpr double kRoomAbove = 1.08;
constexpr double kRoomBesideLog = 1.3;  // a factor; an axis without logarithm has half a step
constexpr double kNear = 8;             // pixels
constexpr double kTickPixels = 56;
// Pixels from the bottom to the centre of a failed point's cross.
constexpr double kCrossHeight = 6;

std::string tick_text(double value) {
  const bool whole = value == std::floor(value) && value < 1e15;
  return whole ? format_count(static_cast<uint64_t>(value)) : format_number(value);
}

/// The smallest step of 1, 2 or 5 times a power of ten that fits at most `most` times into `high`.
double round_step(double high, double most) {
  const double power = std::pow(10, std::floor(std::log10(high / most)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (high / (factor * power) <= most) return factor * power;
  }
  return 10 * power;
}

/// A series, and the index of its first point among all.
struct Place {
  size_t series = 0;
  size_t begin = 0;
};

Place place_of(const Chart& chart, size_t index) {
  Place place;
  while (index - place.begin >= chart.series[place.series].points.size()) {
    place.begin += chart.series[place.series++].points.size();
  }
  return place;
}

/// The point of a series whose x is the nearest to that of the point `index`.
size_t nearest_in(const Chart& chart, Place place, size_t index) {
  const double x = chart.point(index).x;
  const auto& points = chart.series[place.series].points;
  const auto nearest = std::ranges::min_element(
      points, {}, [x](const ChartPoint& point) { return std::abs(point.x - x); });
  return place.begin + static_cast<size_t>(nearest - points.begin());
}

}  // namespace

bool Chart::empty() const {
  return std::ranges::all_of(series, [](const ChartSeries& one) { return one.points.empty(); });
}

size_t Chart::point_count() const {
  return std::accumulate(
      series.begin(), series.end(), size_t{0},
      [](size_t sum, const ChartSeries& one) { return sum + one.points.size(); });
}

const ChartPoint& Chart::point(size_t index) const {
  const Place place = place_of(*this, index);
  return series[place.series].points[index - place.begin];
}

size_t point_after(const Chart& chart, size_t index, ChartStep step) {
  const Place place = place_of(chart, index);
  const size_t last = place.begin + chart.series[place.series].points.size() - 1;
  switch (step) {
    case ChartStep::kLeft:
      return std::max(index, place.begin + 1) - 1;
    case ChartStep::kRight:
      return std::min(index + 1, last);
    case ChartStep::kFirst:
      return place.begin;
    case ChartStep::kLast:
      return last;
    case ChartStep::kSeriesBefore:
      return place.begin == 0 ? index : nearest_in(chart, place_of(chart, place.begin - 1), index);
    case ChartStep::kSeriesAfter:
      break;
  }
  return last + 1 == chart.point_count() ? index
                                         : nearest_in(chart, place_of(chart, last + 1), index);
}

ChartGeometry::ChartGeometry(const Chart& chart, Rect rect) : chart_(chart), rect_(rect) {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  double top = 0;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      low = std::min(low, point.x);
      high = std::max(high, point.x);
      top = std::max({top, point.y.value_or(0), point.high});
    }
  }
  if (low > high) return;
  low_x_ = chart.log_x ? low / kRoomBesideLog : low - 0.5;
  high_x_ = chart.log_x ? high * kRoomBesideLog : high + 0.5;
  high_y_ = top > 0 ? top * kRoomAbove : 1;
}

double ChartGeometry::x_of(double x) const {
  const auto scale = [this](double value) { return chart_.log_x ? std::log(value) : value; };
  const double share = (scale(x) - scale(low_x_)) / (scale(high_x_) - scale(low_x_));
  return rect_.left + (rect_.right - rect_.left) * share;
}

double ChartGeometry::y_of(const std::optional<double>& y) const {
  if (!y) return rect_.bottom - kCrossHeight;
  return rect_.bottom - (rect_.bottom - rect_.top) * *y / high_y_;
}

std::vector<ChartTick> ChartGeometry::x_ticks() const {
  std::vector<ChartTick> ticks;
  if (chart_.empty()) return ticks;
  const double most = std::max(2.0, (rect_.right - rect_.left) / kTickPixels);
  if (chart_.log_x) {
    double factor = 2;
    while (std::log(high_x_ / low_x_) / std::log(factor) > most) factor *= 2;
    for (double value = std::pow(factor, std::ceil(std::log(low_x_) / std::log(factor)));
         value <= high_x_; value *= factor) {
      ticks.push_back({value, tick_text(value)});
    }
    return ticks;
  }
  const double step = std::max(1.0, round_step(high_x_ - low_x_, most));
  for (double value = std::ceil(low_x_); value <= high_x_; value += step) {
    ticks.push_back({value, tick_text(value)});
  }
  return ticks;
}

std::vector<ChartTick> ChartGeometry::y_ticks() const {
  std::vector<ChartTick> ticks;
  const double step = round_step(high_y_, 5);
  for (int i = 0; step * i <= high_y_; ++i) ticks.push_back({step * i, tick_text(step * i)});
  return ticks;
}

std::optional<size_t> ChartGeometry::point_at(double x, double y) const {
  std::optional<size_t> nearest;
  double least = kNear;
  for (size_t i = 0; i < chart_.point_count(); ++i) {
    const ChartPoint& point = chart_.point(i);
    const double distance = std::hypot(x_of(point.x) - x, y_of(point.y) - y);
    if (distance > least) continue;
    least = distance;
    nearest = i;
  }
  return nearest;
}

}  // namespace redline::viewer
