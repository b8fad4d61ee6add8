#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "trace/report/html.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_html.h"
#include "trace/report/report_roofline.h"
#include "trace/report/roofline_plot.h"

namespace redline::trace {
namespace {

constexpr double kPlotWidth = 560, kPlotHeight = 220;

double plot_x(double place) { return kPlotWidth * place; }
double plot_y(double place) { return 2 + kPlotHeight * (1 - std::clamp(place, 0.0, 1.0)); }

std::string grid_of(const RooflinePlot& plot) {
  std::string svg;
  for (const RooflinePlot::Tick& tick : plot.y_ticks) {
    const double y = plot_y(tick.place);
    svg += fmt::format(
        "<line class=grid x1=0 y1={0:.1f} x2={1} y2={0:.1f}></line>"
        "<text x=2 y={2:.1f}>{3}</text>",
        y, kPlotWidth, std::max(11.0, y - 3), tick.text);
  }
  for (const RooflinePlot::Tick& tick : plot.x_ticks) {
    const double x = plot_x(tick.place);
    // The outermost numbers stay within the picture.
    const char* anchor = tick.place <= 0 ? "start" : tick.place >= 1 ? "end" : "middle";
    svg += fmt::format(
        "<line class=grid x1={0:.1f} y1=2 x2={0:.1f} y2={1}></line>"
        "<text x={0:.1f} y={2} text-anchor={4}>{3}</text>",
        x, kPlotHeight + 2, kPlotHeight + 16, tick.text, anchor);
  }
  return svg;
}

std::string roofs_of(const RooflinePlot& plot) {
  std::string svg;
  for (const RooflinePlot::Roof& roof : plot.roofs) {
    svg += fmt::format("<path class=curve d=\"M0.0 {:.1f}L{:.1f} {:.1f}H{}\"></path>",
                       plot_y(roof.left_y), plot_x(roof.ridge_x), plot_y(roof.peak_y), kPlotWidth);
  }
  return svg;
}

std::string circles_of(const RooflinePlot& plot, const std::vector<RooflineRow>& rows) {
  std::string svg;
  for (const RooflinePlot::Circle& circle : plot.circles) {
    svg += fmt::format(
        "<circle cx={:.1f} cy={:.1f} r={:.1f} style=\"fill:var(--{});fill-opacity:.55\">"
        "<title>{}</title></circle>",
        plot_x(circle.x), plot_y(circle.y), 2 + 8 * std::sqrt(circle.share),
        circle.is_product ? "kernel" : "memcpy", html::escape(roofline_hint(rows[circle.row])));
  }
  return svg;
}

std::string picture_of(const std::vector<RooflineRow>& rows) {
  const RooflinePlot plot = roofline_plot(rows);
  if (plot.empty()) return {};
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=img aria-label=\"Roofline: rate over operations a byte\">"
      "{}{}{}<text x={} y={} text-anchor=end>operations a byte</text>"
      "<text x=40 y=14>TFLOP/s</text></svg><p class=dim>Each circle is an operator and shape, its "
      "area the time: blue ones are matrix products, convolutions and attention. The line is "
      "what the device can do.</p>",
      kPlotWidth, kPlotHeight + 34, grid_of(plot), roofs_of(plot), circles_of(plot, rows),
      kPlotWidth, kPlotHeight + 30);
}

std::string percent_cell(const std::optional<double>& percent) {
  return percent ? html::share_cell(*percent / 100) : html::share_cell(std::nullopt);
}

std::string row_of(const RooflineRow& row, int64_t most_lost_ns) {
  const RooflinePoint& point = row.point;
  const auto lost_ns = point.lost_ns.value_or(0);
  return html::name_cell(roofline_name(row), roofline_name(row)) +
         html::bar_cell(share_of(lost_ns, most_lost_ns), "kernel") +
         (point.lost_ns ? html::time_cell(lost_ns) : html::number_cell(-1, "–")) +
         percent_cell(point.percent_of_peak) +
         html::text_cell(point.bound ? bound_name(*point.bound) : "") +
         html::count_cell(row.shape->count) + html::time_cell(row.shape->taken_ns()) +
         (point.tflops_per_s
              ? html::number_cell(*point.tflops_per_s, format_number(*point.tflops_per_s))
              : html::number_cell(-1, "–")) +
         html::rate_cell(point.gb_per_s ? std::optional(*point.gb_per_s * 1e9) : std::nullopt);
}

}  // namespace

std::string roofline_html(const Report& report) {
  const auto rows = shown_roofline_rows(report.traces);
  if (rows.empty()) return {};
  std::string notes;
  for (const std::string& note : roofline_notes(report)) {
    notes += "<p class=dim>" + html::escape(note) + "</p>";
  }
  std::vector<std::string> cells;
  const int64_t most_lost_ns = rows.front().point.lost_ns.value_or(1);
  for (const RooflineRow& row : rows) cells.push_back(row_of(row, most_lost_ns));
  const bool has_roof = rows.front().point.lost_ns.has_value();
  return "<section class=card><h2>What the device could do</h2>" + picture_of(rows) + notes +
         "</section>\n" +
         html::table("Operators by shape",
                     has_roof ? "the most time lost against the roof first" : "the longest first",
                     {{"operator and sizes", false},
                      {"", false, true},
                      {"lost"},
                      {"of peak"},
                      {"bound", false},
                      {"calls"},
                      {first_with_gpus(report.traces) ? "GPU time" : "CPU time"},
                      {"TFLOP/s"},
                      {"memory"}},
                     cells);
}

}  // namespace redline::trace
