#include "base/format.h"
#include "trace/report/html.h"
#include "trace/report/report_html.h"
#include "trace/report/report_modules.h"

namespace redline::trace {
namespace {

std::string cells_of(const ModuleRows& modules, const ModuleRow& row, int64_t all_ns) {
  std::string indent;
  for (uint32_t i = 1; i < row.depth; ++i) indent += "\u00a0\u00a0";
  const int64_t time_ns = modules.time_ns(row.total);
  std::string cells = html::name_cell(module_title(row), indent + module_title(row)) +
                      html::bar_cell(share_of(time_ns, all_ns), "kernel") +
                      html::share_cell(share_of(time_ns, all_ns)) + html::time_cell(time_ns);
  for (const ModuleWork& work : row.total) cells += html::time_cell(modules.time_ns(work));
  cells += html::time_cell(modules.time_ns(row.self)) + html::count_cell(row.total[0].calls);
  if (modules.has_gpu) cells += html::time_cell(row.exposed_ns);
  if (modules.has_flops) {
    const auto flops = static_cast<double>(ModuleNode::sum_of(row.total).flops);
    cells += html::number_cell(flops, format_number(flops / 1e9));
  }
  if (modules.has_memory) cells += html::bytes_cell(row.kept_bytes);
  return cells;
}

}  // namespace

std::string modules_html(const Report& report) {
  const ModuleRows modules = module_rows(report.traces);
  if (modules.rows.empty()) return {};
  std::vector<html::Column> columns = {
      {"module", false}, {"", false, true}, {"share"}, {modules.has_gpu ? "GPU time" : "host time"},
      {"forward"},       {"backward"},      {"again"}, {"own"},
      {"calls"}};
  if (modules.has_gpu) columns.push_back({"exposed"});
  if (modules.has_flops) columns.push_back({"GFLOP"});
  if (modules.has_memory) columns.push_back({"kept memory"});
  std::vector<std::string> cells;
  const int64_t all_ns = modules.time_ns(modules.rows.front().total);
  for (size_t i = 1; i < modules.rows.size(); ++i) {
    cells.push_back(cells_of(modules, modules.rows[i], all_ns));
  }
  return html::table("Modules", joined(module_notes(modules), " "), columns, cells, 24);
}

}  // namespace redline::trace
