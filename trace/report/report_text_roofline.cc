#include "base/format.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_roofline.h"
#include "trace/report/report_text_page.h"

namespace redline::trace {
namespace {

constexpr size_t kRooflineColumns = 34;

void write_roofline_row(TextPage& page, const RooflineRow& row) {
  const RooflinePoint& point = row.point;
  page.canvas.left("  ")
      .left(roofline_shape(row), kRooflineColumns - 1 - row.of_rank.size())
      .left(row.of_rank, row.of_rank.size() + 1)
      .right(format_count(row.shape->count), 7)
      .right(format_ns(row.shape->taken_ns()), 10)
      .right(point.percent_of_peak ? format_percent(*point.percent_of_peak / 100) : "-", 9)
      .right(point.bound ? bound_name(*point.bound) : "-", 9)
      .right(time_text(point.lost_ns), 9)
      .end_line();
}

}  // namespace

void write_roofline(TextPage& page) {
  const auto rows = shown_roofline_rows(page.report.traces);
  if (rows.empty()) return;
  page.write_title("ROOFLINE" + of_ranks(page.report), rows.size(), 36);
  page.canvas.right("calls", 7, Hue::kDim)
      .right(first_with_gpus(page.report.traces) ? "GPU time" : "CPU time", 10, Hue::kDim)
      .right("of peak", 9, Hue::kDim)
      .right("bound", 9, Hue::kDim)
      .right("lost", 9, Hue::kDim)
      .end_line();
  for (size_t i = 0; i < page.shown(rows.size()); ++i) write_roofline_row(page, rows[i]);
  page.canvas.notes(roofline_notes(page.report)).end_line();
}

}  // namespace redline::trace
