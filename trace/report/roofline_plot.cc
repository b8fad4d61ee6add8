#include "trace/report/roofline_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "base/format.h"

namespace redline::trace {
namespace {

constexpr size_t kMostCircles = 200;

struct LogAxis {
  double low = 0, high = 1;  // exponents

  void reach(double value) {
    if (value <= 0) return;
    low = std::min(low, std::floor(std::log10(value)));
    high = std::max(high, std::ceil(std::log10(value)));
  }
  [[nodiscard]] double place(double value) const {
    return (std::log10(value) - low) / (high - low);
  }
  [[nodiscard]] std::vector<RooflinePlot::Tick> ticks() const {
    std::vector<RooflinePlot::Tick> ticks;
    for (double exponent = low; exponent <= high; ++exponent) {
      ticks.push_back(
          {(exponent - low) / (high - low), fmt::format("{:g}", std::pow(10, exponent))});
    }
    return ticks;
  }
};

// In TFLOP/s, by OperatorWork::needed_flops.
double needed_rate(const RooflineRow& row) {
  return row.point.flops_per_byte.value_or(0) * row.point.gb_per_s.value_or(0) / 1e3;
}

// The peaks of the types that products computed in.
std::set<double> peaks_in_use(const std::vector<RooflineRow>& rows) {
  std::set<double> peaks;
  for (const RooflineRow& row : rows) {
    if (!row.shape->work.is_product || !row.point.type) continue;
    if (const auto peak = row.summary->peaks.of(*row.point.type)) peaks.insert(*peak);
  }
  return peaks;
}

std::vector<size_t> longest_rows(const std::vector<RooflineRow>& rows) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (needed_rate(rows[i]) > 0) chosen.push_back(i);
  }
  std::ranges::stable_sort(chosen, std::greater(),
                           [&](size_t i) { return rows[i].shape->taken_ns(); });
  chosen.resize(std::min(chosen.size(), kMostCircles));
  return chosen;
}

}  // namespace

RooflinePlot roofline_plot(const std::vector<RooflineRow>& rows) {
  RooflinePlot plot;
  const std::vector<size_t> chosen = longest_rows(rows);
  const std::set<double> peaks = peaks_in_use(rows);
  if (chosen.empty() || peaks.empty()) return plot;
  const double gb_per_s = rows.front().summary->peaks.gb_per_s.value_or(0);
  if (gb_per_s <= 0) return plot;
  LogAxis intensity, rate;
  for (const size_t index : chosen) {
    intensity.reach(*rows[index].point.flops_per_byte);
    rate.reach(needed_rate(rows[index]));
  }
  for (const double peak : peaks) {
    rate.reach(peak);
    intensity.reach(peak * 1e3 / gb_per_s);
  }
  plot.x_ticks = intensity.ticks();
  plot.y_ticks = rate.ticks();
  const double left = std::pow(10, intensity.low);
  for (const double peak : peaks) {
    const double ridge = intensity.place(peak * 1e3 / gb_per_s);
    plot.roofs.push_back({rate.place(left * gb_per_s / 1e3), ridge, rate.place(peak)});
  }
  const auto longest_ns =
      std::max<double>(1, static_cast<double>(rows[chosen.front()].shape->taken_ns()));
  for (const size_t index : chosen) {
    const RooflineRow& row = rows[index];
    plot.circles.push_back({intensity.place(*row.point.flops_per_byte),
                            rate.place(needed_rate(row)),
                            static_cast<double>(row.shape->taken_ns()) / longest_ns,
                            row.shape->work.is_product, index});
  }
  return plot;
}

std::string roofline_hint(const RooflineRow& row) {
  std::string hint = roofline_name(row) + ": " + format_number(needed_rate(row)) + " TFLOP/s, ";
  if (row.point.percent_of_peak) {
    hint += format_percent(*row.point.percent_of_peak / 100) + " of peak, ";
  }
  return hint + format_ns(row.shape->taken_ns());
}

}  // namespace redline::trace
