#include "viewer/models/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

bool before(const Graph::Point& left, const Graph::Point& right) {
  return left.time_ns < right.time_ns;
}

}  // namespace

Graph::Graph(std::vector<Point> points, std::string unit)
    : points_(std::move(points)), unit_(std::move(unit)) {
  std::erase_if(points_, [](const Point& point) { return !std::isfinite(point.value); });
  if (!std::is_sorted(points_.begin(), points_.end(), before)) {
    std::stable_sort(points_.begin(), points_.end(), before);
  }
  for (size_t first = 0; first < points_.size(); first += kBlock) {
    Extent block{points_[first].value, points_[first].value};
    for (size_t i = first; i < std::min(first + kBlock, points_.size()); ++i) {
      block.low = std::min(block.low, points_[i].value);
      block.high = std::max(block.high, points_[i].value);
    }
    blocks_.push_back(block);
    low_ = std::min(low_, block.low);
    high_ = first == 0 ? block.high : std::max(high_, block.high);
  }
}

Graph::Extent Graph::extent(size_t first, size_t end) const {
  Extent sum{points_[first].value, points_[first].value};
  const auto add = [&sum](double low, double high) {
    sum.low = std::min(sum.low, low);
    sum.high = std::max(sum.high, high);
  };
  size_t i = first;
  while (i < end) {
    if (i % kBlock == 0 && i + kBlock <= end) {
      add(blocks_[i / kBlock].low, blocks_[i / kBlock].high);
      i += kBlock;
    } else {
      add(points_[i].value, points_[i].value);
      ++i;
    }
  }
  return sum;
}

double Graph::at(int64_t time_ns) const {
  if (points_.empty()) return 0;
  const auto after = std::upper_bound(points_.begin(), points_.end(), Point{time_ns, 0}, before);
  return after == points_.begin() ? points_.front().value : std::prev(after)->value;
}

std::string Graph::text(double value) const {
  const double bytes = unit_ == "B" ? 1 : unit_ == "MiB" ? 0x1p20 : 0;
  if (bytes > 0 && value >= 0 && value * bytes < 1e18) {
    return format_bytes(static_cast<uint64_t>(value * bytes));
  }
  // Of a large number nobody wants fractions, and "{:.4g}" would write 54,120.5 as 5.412e+04.
  const bool whole = value >= 0 && value < 1e15 && (value == std::round(value) || value >= 1000);
  const std::string number = whole ? format_count(static_cast<uint64_t>(std::llround(value)))
                                   : fmt::format("{:.4g}", value);
  return unit_.empty() ? number : number + " " + unit_;
}

class GraphColumns {
 public:
  GraphColumns(const Graph& graph, const TimeAxis& axis) : graph_(graph), axis_(axis) {}

  std::vector<GraphColumn> run() {
    std::vector<GraphColumn> columns(static_cast<size_t>(axis_.width));
    if (graph_.points_.empty()) return columns;
    size_t next = index_after(0, saturating_sub(axis_.begin_ns, 1));
    for (int x = 0; x < axis_.width; ++x) {
      const size_t end = index_after(next, saturating_sub(axis_.time_at(x + 1.0), 1));
      // The value before the column counts, too, so that the line has no gaps.
      const size_t first = next > 0 ? next - 1 : 0;
      if (end > 0) {
        const Graph::Extent extent = graph_.extent(first, std::max(end, first + 1));
        columns[static_cast<size_t>(x)] = {true, extent.low, extent.high};
      }
      next = end;
    }
    return columns;
  }

 private:
  // The first point behind the time. It gallops from `from`, because columns are only small steps
  // apart.
  [[nodiscard]] size_t index_after(size_t from, int64_t time_ns) const {
    const auto& points = graph_.points_;
    size_t step = 1;
    size_t end = from;
    while (end < points.size() && points[end].time_ns <= time_ns) {
      from = end + 1;
      end += step;
      step *= 2;
    }
    const auto begin = points.begin();
    const auto found =
        std::upper_bound(begin + static_cast<std::ptrdiff_t>(from),
                         begin + static_cast<std::ptrdiff_t>(std::min(end, points.size())),
                         Graph::Point{time_ns, 0}, before);
    return static_cast<size_t>(found - begin);
  }

  const Graph& graph_;
  TimeAxis axis_;
};

std::vector<GraphColumn> graph_columns(const Graph& graph, const TimeAxis& axis) {
  return GraphColumns(graph, axis).run();
}

}  // namespace redline::viewer
