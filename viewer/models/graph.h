// A value over time, drawn as a line: counters of the recorder, memory, the length of queues.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viewer/models/time_axis.h"

namespace redline::viewer {

/// Each value holds from its time until the next one's. Does not change once built.
class Graph {
 public:
  struct Point {
    int64_t time_ns = 0;
    double value = 0;
  };

  Graph() = default;
  /// Sorts the points by time if they are not sorted, and leaves out values that are no finite
  /// numbers.
  Graph(std::vector<Point> points, std::string unit);

  [[nodiscard]] const std::string& unit() const { return unit_; }
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }
  /// The smallest value, or 0 if that is smaller.
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }  ///< the largest value
  /// The value that holds at a time; before the first point, the first point's value.
  [[nodiscard]] double at(int64_t time_ns) const;
  /// The value with its unit, as people read it: "7.4 GiB", "87.5 %".
  [[nodiscard]] std::string text(double value) const;

 private:
  friend class GraphColumns;
  static constexpr size_t kBlock = 64;
  struct Extent {
    double low = 0;
    double high = 0;
  };
  [[nodiscard]] Extent extent(size_t first, size_t end) const;

  std::vector<Point> points_;
  /// Of kBlock points each, because a million points share a thousand pixels.
  std::vector<Extent> blocks_;
  std::string unit_;
  double low_ = 0;
  double high_ = 0;
};

/// One pixel column: the values that hold in it go from `low` to `high`.
struct GraphColumn {
  bool drawn = false;  ///< there is a value
  double low = 0;
  double high = 0;
};

/// `axis` is in the graph's own time. The first value is drawn from its own time on.
[[nodiscard]] std::vector<GraphColumn> graph_columns(const Graph& graph, const TimeAxis& axis);

}  // namespace redline::viewer
