// A chart of points as values, and where each of them stands in pixels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redline::viewer {

struct ChartPoint {
  double x = 0;
  std::optional<double> y;  ///< nullopt: it failed, and is drawn as a cross at the bottom
  bool on_line = false;
  int64_t id = 0;
  std::string hint;
  double low = 0;          ///< the ends of its interval
  double high = 0;         ///< not above `low` if there is none
  bool is_hollow = false;  ///< it may be wrong
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;  ///< by x
  bool is_stairs = false;          ///< the line keeps its height until the next point on it
  std::optional<double> limit;     ///< x of a dashed line
};

struct Chart {
  std::string title;
  std::string x_title;
  bool log_x = false;
  std::vector<ChartSeries> series;

  [[nodiscard]] bool empty() const;
  /// All points, series after series.
  [[nodiscard]] size_t point_count() const;
  [[nodiscard]] const ChartPoint& point(size_t index) const;
};

/// A step along a series, or to the nearest point of the series before or after it.
enum class ChartStep : uint8_t { kLeft, kRight, kSeriesBefore, kSeriesAfter, kFirst, kLast };
/// The point that a step leads to; at an end the same one.
[[nodiscard]] size_t point_after(const Chart& chart, size_t index, ChartStep step);

struct ChartTick {
  double value = 0;
  std::string text;
};

/// A chart in a rectangle of pixels; y grows downwards, from 0 at the bottom of the chart.
class ChartGeometry {
 public:
  struct Rect {
    double left, top, right, bottom;
  };

  ChartGeometry(const Chart& chart, Rect rect);

  [[nodiscard]] double x_of(double x) const;
  [[nodiscard]] double y_of(const std::optional<double>& y) const;
  [[nodiscard]] std::vector<ChartTick> x_ticks() const;
  [[nodiscard]] std::vector<ChartTick> y_ticks() const;
  /// The nearest point within a few pixels.
  [[nodiscard]] std::optional<size_t> point_at(double x, double y) const;

 private:
  const Chart& chart_;
  Rect rect_;
  double low_x_ = 0;
  double high_x_ = 1;
  double high_y_ = 1;
};

}  // namespace redline::viewer
