#include "viewer/models/comparison.h"

#include <fmt/format.h>

#include <cmath>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

std::string change_text(int64_t delta_ns) {
  return (delta_ns > 0 ? "+" : "") + format_duration(delta_ns);
}

TableValue relative_change(const trace::DiffRow& row) {
  if (row.before_ns <= 0) return {};
  return static_cast<double>(row.delta_ns()) / static_cast<double>(row.before_ns);
}

void add(Table& table, const char* kind, const std::vector<trace::DiffRow>& rows, bool is_slice) {
  for (const trace::DiffRow& row : rows) {
    if (row.before_ns == 0 && row.after_ns == 0) continue;
    const bool judged = row.verdict != trace::Verdict::kUnknown;
    table.rows.push_back(
        {{row.name, std::string(kind), row.before_ns, row.after_ns, row.delta_ns(),
          relative_change(row), is_slice ? TableValue(row.before_count) : TableValue(),
          is_slice ? TableValue(row.after_count) : TableValue(),
          judged ? TableValue(std::string(trace::verdict_name(row.verdict))) : TableValue()},
         {},
         is_slice ? row.name : ""});
  }
}

}  // namespace

Table diff_rows(const trace::Diff& diff) {
  Table table{"Compare",
              {{"Name", Unit::kText},
               {"Kind", Unit::kText},
               {"Before", Unit::kDuration},
               {"After", Unit::kDuration},
               {"Change", Unit::kChange},
               {"Change %", Unit::kChangeShare},
               {"Calls before", Unit::kCount},
               {"Calls after", Unit::kCount},
               {"Verdict", Unit::kText}},
              {}};
  add(table, "part of the step", diff.breakdown, false);
  add(table, "kernel", diff.kernels, true);
  add(table, "collective", diff.collectives, true);
  add(table, "copy", diff.copies, true);
  add(table, "operator", diff.operators, true);
  return table;
}

std::string diff_headline(const trace::Diff& diff) {
  std::string change = change_text(diff.step_delta_ns());
  if (diff.basis_samples) change += fmt::format(" for {:g} samples", *diff.basis_samples);
  std::string text = fmt::format("{} → {} a step ({})", format_duration(diff.before.step_ns),
                                 format_duration(diff.after.step_ns), change);
  const auto speedup = diff.speedup();
  if (!speedup || !std::isfinite(*speedup) || *speedup <= 0) return text;
  return *speedup >= 1 ? fmt::format("{:.2f} × faster: {}", *speedup, text)
                       : fmt::format("{:.2f} × slower: {}", 1 / *speedup, text);
}

}  // namespace redline::viewer
