
#include "base/format.h"
#include "base/statistics.h"
#include "trace/analysis/link_use.h"
#include "trace/analysis/run_tables.h"
#include "trace/report/kernel_name.h"
#include "trace/report/report_text_page.h"

namespace redline::trace {

namespace {

// Writes one line for each row, with its share of the time of all rows.
template <typename Row>
void write_shares(TextPage& page, const std::string& title, const std::vector<Row>& rows,
                  int64_t Row::*time_ns, const std::vector<std::string>& names) {
  if (rows.empty()) return;
  const int64_t all_ns = total_of(rows, time_ns);
  page.write_table_head(title, rows.size(), "share");
  for (size_t i = 0; i < page.shown(rows.size()); ++i) {
    const Row& row = rows[i];
    page.write_row(names[i], row.count, row.*time_ns, share_text(row.*time_ns, all_ns));
  }
  page.canvas.end_line();
}

}  // namespace

void write_kernels(TextPage& page) {
  const auto rows = merged_kernels(page.report.traces);
  std::vector<std::string_view> names;
  for (size_t i = 0; i < page.shown(rows.size()); ++i) names.push_back(rows[i].name);
  write_shares(page, "KERNELS" + of_ranks(page.report), rows, &KernelRow::total_ns,
               short_kernel_names(names, kNameColumns));
}

void write_operators(TextPage& page) {
  const auto rows = merged_operators(page.report.traces);
  std::vector<std::string> names;
  for (size_t i = 0; i < page.shown(rows.size()); ++i) {
    names.push_back(short_operator_name(rows[i].name, kNameColumns));
  }
  write_shares(page, "OPERATORS by own host time", rows, &OperatorRow::self_ns, names);
}

void write_collectives(TextPage& page) {
  const auto collectives = merged_collectives(page.report.traces);
  if (collectives.empty()) return;
  TextCanvas& canvas = page.canvas;
  const auto link_gb_per_s = link_peak(page.report.traces);
  const size_t name_width = link_gb_per_s ? 22 : 30;
  page.write_title("COLLECTIVES", collectives.size(), name_width + 2);
  canvas.right("calls", 7, Hue::kDim)
      .right("message", 11, Hue::kDim)
      .right("total", 10, Hue::kDim)
      .right("exposed", 9, Hue::kDim)
      .right("bus rate", 11, Hue::kDim);
  if (link_gb_per_s) canvas.right("of link", 8, Hue::kDim);
  canvas.end_line();
  for (size_t i = 0; i < page.shown(collectives.size()); ++i) {
    const Collective& row = collectives[i];
    canvas.left("  ")
        .left(short_kernel_name(row.name, name_width - 1), name_width)
        .right(format_count(row.count), 7)
        .right(row.bytes && row.count > 0 ? format_bytes(*row.bytes / row.count) : "-", 11)
        .right(time_text(row.total_ns), 10)
        .right(row.total_ns ? share_text(*row.exposed_ns, *row.total_ns) : "-", 9)
        .right(row.bus_bandwidth ? format_bandwidth(*row.bus_bandwidth) : "-", 11);
    if (link_gb_per_s) {
      const auto of_link = share_of_link(row, link_gb_per_s);
      canvas.right(of_link ? format_percent(*of_link) : "-", 8);
    }
    canvas.end_line();
  }
  canvas.end_line();
}

void write_copies(TextPage& page) {
  const auto copies = merged_copies(page.report.traces);
  if (copies.empty()) return;
  page.write_table_head("COPIES", copies.size(), "rate");
  for (size_t i = 0; i < page.shown(copies.size()); ++i) {
    const CopyRow& row = copies[i];
    const auto bandwidth = row.bandwidth();
    page.write_row(elide_middle(row.kind, kNameColumns), row.count, row.total_ns,
                   bandwidth ? format_bandwidth(*bandwidth) : "-");
  }
  page.canvas.end_line();
}

}  // namespace redline::trace
