#include "viewer/models/diff_table.h"

#include <fmt/format.h>

#include <functional>

#include "trace/report/diff_words.h"
#include "viewer/models/collectives_table.h"
#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

TableValue relative_change(const trace::DiffRow& row) {
  if (row.before_ns <= 0) return {};
  return static_cast<double>(row.delta_ns()) / static_cast<double>(row.before_ns);
}

/// Makes the row lead to the slices that it sums up.
using Lead = std::function<void(TableRow& row, const std::string& name)>;

void lead_to_name(TableRow& row, const std::string& name) { row.name = name; }

void add(Table& table, const char* kind, const std::vector<trace::DiffRow>& rows,
         const Lead& lead) {
  for (const trace::DiffRow& row : rows) {
    if (row.before_ns == 0 && row.after_ns == 0) continue;
    const bool judged = row.verdict != trace::Verdict::kUnknown;
    table.rows.push_back(
        {{row.name, std::string(kind), row.before_ns, row.after_ns, row.delta_ns(),
          relative_change(row), lead ? TableValue(row.before_count) : TableValue(),
          lead ? TableValue(row.after_count) : TableValue(),
          judged ? TableValue(std::string(trace::verdict_name(row.verdict))) : TableValue()},
         {},
         {}});
    if (lead) lead(table.rows.back(), row.name);
  }
}

}  // namespace

Table diff_rows(const Session& session, const trace::Report& after, const trace::Diff& diff) {
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
  add(table, "part of the step", diff.breakdown, {});
  add(table, "kernel", diff.kernels, lead_to_name);
  add(table, "collective", diff.collectives, [&](TableRow& row, const std::string& kind) {
    row.slice = longest_of_kind(session, after, kind);
  });
  add(table, "copy", diff.copies, lead_to_name);
  add(table, "operator", diff.operators, lead_to_name);
  return table;
}

std::string diff_headline(const trace::Diff& diff) {
  const trace::DiffWords words = trace::words_of(diff);
  std::string change = format_change(diff.step_delta_ns());
  if (diff.basis_samples) change += " for " + words.basis;
  const auto& before = diff.before.samples_per_second;
  const auto& after = diff.after.samples_per_second;
  // Steps of different batch sizes say nothing beside each other.
  const std::string rates = diff.basis_samples && before && after
                                ? fmt::format("{} → {} samples/s", redline::format_number(*before),
                                              redline::format_number(*after))
                                : fmt::format("{} → {}{}", format_duration(diff.before.step_ns),
                                              format_duration(diff.after.step_ns),
                                              diff.has_marked_steps() ? " a step" : "");
  const std::string verdict = words.verdict.empty() ? "" : typeset(words.verdict) + ": ";
  return fmt::format("{}{} ({})", verdict, rates, change);
}

std::vector<std::string> diff_notes(const trace::Diff& diff) {
  const trace::DiffWords words = trace::words_of(diff);
  std::vector<std::string> notes{"times are those of " + words.basis, typeset(words.interval)};
  for (const std::string& warning : {words.other_gpu, words.unknown_samples}) {
    if (!warning.empty()) notes.push_back(warning);
  }
  return notes;
}

}  // namespace redline::viewer
