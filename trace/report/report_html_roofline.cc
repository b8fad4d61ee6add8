#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.h"
#include "trace/report/html.h"
#include "trace/report/report_html.h"
#include "trace/report/report_roofline.h"

namespace redline::trace {
namespace {

constexpr double kPlotWidth = 560, kPlotHeight = 220;
constexpr size_t kMostDots = 200;
constexpr size_t kMostRooflineRows = 200;

// Both axes are logarithmic, in whole powers of ten.
struct LogAxis {
  double low = 0, high = 1;  // exponents

  void reach(double value) {
    if (value <= 0) return;
    low = std::min(low, std::floor(std::log10(value)));
    high = std::max(high, std::ceil(std::log10(value)));
  }
  // 0..1
  [[nodiscard]] double place(double value) const {
    return (std::log10(value) - low) / (high - low);
  }
};

struct Plot {
  LogAxis intensity, rate;

  [[nodiscard]] double x(double flops_per_byte) const {
    return kPlotWidth * std::clamp(intensity.place(flops_per_byte), 0.0, 1.0);
  }
  [[nodiscard]] double y(double tflops) const {
    return 2 + kPlotHeight * (1 - std::clamp(rate.place(tflops), 0.0, 1.0));
  }
};

bool can_be_drawn(const RooflineRow& row) {
  return row.point.flops_per_byte.value_or(0) > 0 && row.point.tflops_per_s.value_or(0) > 0;
}

Plot plot_of(const std::vector<RooflineRow>& dots, const std::set<double>& peaks) {
  Plot plot;
  for (const RooflineRow& row : dots) {
    plot.intensity.reach(*row.point.flops_per_byte);
    plot.rate.reach(*row.point.tflops_per_s);
  }
  for (const double peak : peaks) plot.rate.reach(peak);
  return plot;
}

std::string grid_of(const Plot& plot) {
  std::string svg;
  for (double exponent = plot.rate.low; exponent <= plot.rate.high; ++exponent) {
    const double y = plot.y(std::pow(10, exponent));
    svg += fmt::format(
        "<line class=grid x1=0 y1={0:.1f} x2={1} y2={0:.1f}></line>"
        "<text x=2 y={2:.1f}>{3:g}</text>",
        y, kPlotWidth, std::max(11.0, y - 3), std::pow(10, exponent));
  }
  for (double exponent = plot.intensity.low; exponent <= plot.intensity.high; ++exponent) {
    const double x = plot.x(std::pow(10, exponent));
    // The outermost numbers stay within the picture.
    const char* anchor = exponent == plot.intensity.low    ? "start"
                         : exponent == plot.intensity.high ? "end"
                                                           : "middle";
    svg += fmt::format(
        "<line class=grid x1={0:.1f} y1=2 x2={0:.1f} y2={1}></line>"
        "<text x={0:.1f} y={2} text-anchor={4}>{3:g}</text>",
        x, kPlotHeight + 2, kPlotHeight + 16, std::pow(10, exponent), anchor);
  }
  return svg;
}

// The slope of the memory's bandwidth up to each peak, and the peak from there on.
std::string roofs_of(const Plot& plot, const std::set<double>& peaks, double gb_per_s) {
  std::string svg;
  for (const double peak : peaks) {
    const double ridge = peak * 1e3 / gb_per_s;
    const double first = std::pow(10, plot.intensity.low);
    svg += fmt::format("<path class=curve d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}H{}\"></path>",
                       plot.x(first), plot.y(first * gb_per_s / 1e3), plot.x(ridge), plot.y(peak),
                       kPlotWidth);
  }
  return svg;
}

std::string dots_of(const Plot& plot, const std::vector<RooflineRow>& dots) {
  int64_t longest_ns = 1;
  for (const RooflineRow& row : dots) {
    longest_ns = std::max(longest_ns, row.shape->device_ns.value_or(0));
  }
  std::string svg;
  for (const RooflineRow& row : dots) {
    const RooflinePoint& point = row.point;
    const double radius =
        2 + 8 * std::sqrt(html::share(row.shape->device_ns.value_or(0), longest_ns));
    svg += fmt::format(
        "<circle cx={:.1f} cy={:.1f} r={:.1f} style=\"fill:var(--{});fill-opacity:.55\">"
        "<title>{}: {} TFLOP/s, {}</title></circle>",
        plot.x(*point.flops_per_byte), plot.y(*point.tflops_per_s), radius,
        row.shape->work.is_product ? "kernel" : "memcpy", html::escape(roofline_name(row)),
        format_number(*point.tflops_per_s), format_ns(row.shape->device_ns.value_or(0)));
  }
  return svg;
}

// The peaks of the types that products computed in.
std::set<double> peaks_in_use(const std::vector<RooflineRow>& rows) {
  std::set<double> peaks;
  for (const RooflineRow& row : rows) {
    if (!row.shape->work.is_product || !row.point.type) continue;
    if (const auto peak = row.analysis->peaks.of(*row.point.type)) peaks.insert(*peak);
  }
  return peaks;
}

std::string picture_of(const std::vector<RooflineRow>& rows) {
  std::vector<RooflineRow> dots;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(dots), can_be_drawn);
  std::stable_sort(dots.begin(), dots.end(), [](const RooflineRow& left, const RooflineRow& right) {
    return left.shape->device_ns > right.shape->device_ns;
  });
  dots.resize(std::min(dots.size(), kMostDots));
  const auto gb_per_s = rows.front().analysis->peaks.gb_per_s;
  const std::set<double> peaks = peaks_in_use(rows);
  if (dots.empty() || peaks.empty() || !gb_per_s) return {};
  const Plot plot = plot_of(dots, peaks);
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=img aria-label=\"Roofline: rate over operations a byte\">"
      "{}{}{}<text x={} y={} text-anchor=end>operations a byte</text>"
      "<text x=40 y=14>TFLOP/s</text></svg><p class=dim>Each circle is an operator and shape, its "
      "area the GPU time: blue ones are matrix products, convolutions and attention. The line is "
      "what the device can do.</p>",
      kPlotWidth, kPlotHeight + 34, grid_of(plot), roofs_of(plot, peaks, *gb_per_s),
      dots_of(plot, dots), kPlotWidth, kPlotHeight + 30);
}

std::string percent_cell(const std::optional<double>& percent) {
  return percent ? html::share_cell(*percent / 100) : html::share_cell(std::nullopt);
}

std::string row_of(const RooflineRow& row, int64_t most_lost_ns) {
  const RooflinePoint& point = row.point;
  const auto lost_ns = point.lost_ns.value_or(0);
  return html::name_cell(roofline_name(row), roofline_name(row)) +
         html::bar_cell(html::share(lost_ns, most_lost_ns), "kernel") +
         (point.lost_ns ? html::time_cell(lost_ns) : html::number_cell(-1, "–")) +
         percent_cell(point.percent_of_peak) +
         html::text_cell(point.bound ? bound_name(*point.bound) : "") +
         html::count_cell(row.shape->count) + html::time_cell(row.shape->device_ns.value_or(0)) +
         (point.tflops_per_s
              ? html::number_cell(*point.tflops_per_s, format_number(*point.tflops_per_s))
              : html::number_cell(-1, "–")) +
         html::rate_cell(point.gb_per_s ? std::optional(*point.gb_per_s * 1e9) : std::nullopt);
}

}  // namespace

std::string roofline_html(const Report& report) {
  std::vector<RooflineRow> rows = roofline_rows(report.traces);
  std::erase_if(rows, [](const RooflineRow& row) { return row.shape->device_ns.value_or(0) <= 0; });
  if (rows.empty()) return {};
  std::string notes;
  for (const std::string& note : roofline_notes(report)) {
    notes += "<p class=dim>" + html::escape(note) + "</p>";
  }
  std::vector<std::string> cells;
  const int64_t most_lost_ns = rows.front().point.lost_ns.value_or(1);
  for (size_t i = 0; i < std::min(rows.size(), kMostRooflineRows); ++i) {
    cells.push_back(row_of(rows[i], most_lost_ns));
  }
  return "<section class=card><h2>What the device could do</h2>" + picture_of(rows) + notes +
         "</section>\n" +
         html::table("Operators by shape", "the most time lost against the roof first",
                     {{"operator and sizes", false},
                      {"", false, true},
                      {"lost"},
                      {"of peak"},
                      {"bound", false},
                      {"calls"},
                      {"GPU time"},
                      {"TFLOP/s"},
                      {"memory"}},
                     cells);
}

}  // namespace redline::trace
