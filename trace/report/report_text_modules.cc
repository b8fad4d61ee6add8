#include <set>

#include "base/format.h"
#include "base/statistics.h"
#include "trace/report/report_modules.h"
#include "trace/report/report_text_page.h"

namespace redline::trace {
namespace {

constexpr size_t kModuleColumns = 33;

// The rows whose own work takes longest, and those that they are in.
std::vector<size_t> heaviest(const ModuleRows& modules, size_t count) {
  const auto order = largest_first(
      modules.rows.size() - 1, [&](size_t i) { return modules.time_ns(modules.rows[i + 1].self); });
  std::set<size_t> rows;
  for (size_t i = 0; i < count; ++i) {
    size_t row = order[i] + 1;
    rows.insert(row);
    for (size_t above = row; modules.rows[row].depth > 1; --above) {
      if (modules.rows[above].depth >= modules.rows[row].depth) continue;
      rows.insert(above);
      row = above;
    }
  }
  return {rows.begin(), rows.end()};
}

void write_module(TextPage& page, const ModuleRows& modules, const ModuleRow& row, int64_t all_ns) {
  const auto time_of = [&](ModulePass pass) {
    return format_ns_or_dash(modules.time_ns(row.total[static_cast<size_t>(pass)]));
  };
  const std::string title = std::string(2 * (row.depth - 1), ' ') + module_title(row);
  page.canvas.left("  ")
      .left(elide(title, kModuleColumns - 1), kModuleColumns)
      .right(format_count(row.total[0].calls), 7)
      .right(time_of(ModulePass::kForward), 10)
      .right(time_of(ModulePass::kBackward), 10)
      .right(time_of(ModulePass::kRecomputation), 10)
      .right(share_text(modules.time_ns(row.total), all_ns), 8)
      .end_line();
}

}  // namespace

void write_modules(TextPage& page) {
  const ModuleRows modules = module_rows(page.report.traces);
  if (modules.rows.empty()) return;
  const size_t rows = modules.rows.size() - 1;
  page.write_title(
      (modules.has_gpu ? "MODULES by GPU time" : "MODULES by host time") + of_ranks(page.report),
      rows, kModuleColumns + 2);
  page.canvas.right("calls", 7, Hue::kDim)
      .right("forward", 10, Hue::kDim)
      .right("backward", 10, Hue::kDim)
      .right("again", 10, Hue::kDim)
      .right("share", 8, Hue::kDim)
      .end_line();
  const int64_t all_ns = modules.time_ns(modules.rows.front().total);
  for (const size_t row : heaviest(modules, page.shown(rows))) {
    write_module(page, modules, modules.rows[row], all_ns);
  }
  page.canvas.notes(module_notes(modules)).end_line();
}

}  // namespace redline::trace
