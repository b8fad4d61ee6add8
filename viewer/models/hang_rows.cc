#include "viewer/models/hang_rows.h"

#include <algorithm>
#include <set>

namespace redline::viewer {
namespace {

using trace::HangTable;

bool has(const std::vector<int>& ranks, int rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

// The groups in which somebody waits, and that of the verdict.
std::set<std::string> waiting_groups(const trace::Report& report) {
  std::set<std::string> groups;
  if (!report.hang->group.empty()) groups.insert(report.hang->group);
  for (const HangTable& table : report.hang_tables) {
    for (const trace::EnteredCollective& entry : table.collectives) {
      if (!entry.is_done) groups.insert(entry.group);
    }
  }
  if (groups.empty()) groups.insert("");  // nobody is known to wait in a collective
  return groups;
}

std::string frames_of(const HangTable& table) {
  std::string text = table.inner;
  for (const std::string& frame : table.stack) text += (text.empty() ? "" : " < ") + frame;
  return text;
}

SliceRef last_step(const Session& session, int rank) {
  SliceRef last;
  for (uint32_t t = 0; t < session.traces().size(); ++t) {
    const SessionTrace& each = session.traces()[t];
    if (each.trace->metadata().rank != rank || each.steps.empty()) continue;
    last = {t, each.steps.back().slice};
  }
  return last;
}

const char* state_of(const HangTable& table, const trace::Hang& hang) {
  if (has(hang.ranks, table.rank)) return trace::hang_kind_name(hang.kind);
  return has(hang.waiting_ranks, table.rank) ? "waits" : "";
}

TableRow row_of(const Session& session, const trace::Report& report, const HangTable& table,
                const std::string& group) {
  TableRow row;
  const bool is_culprit = has(report.hang->ranks, table.rank);
  row.values = {(is_culprit ? "▶ rank " : "rank ") + std::to_string(table.rank), table.host,
                std::string(state_of(table, *report.hang)), group};
  row.values.resize(7);
  for (const trace::CollectiveGroup& known : table.groups) {
    if (known.name == group && known.entered > 0) row.values[4] = known.entered;
  }
  for (const trace::EnteredCollective& entry : table.collectives) {
    if (entry.group != group) continue;
    row.values[4] = entry.sequence;
    row.values[5] = entry.operation + (entry.is_done ? ", done" : " " + entry.sizes);
  }
  row.values[6] = frames_of(table);
  row.slice = last_step(session, table.rank);
  return row;
}

}  // namespace

Table hang_rows(const Session& session, const trace::Report& report) {
  Table table{"Hang",
              {{"Rank", Unit::kText, "▶ holds the others up"},
               {"Host", Unit::kText},
               {"Does", Unit::kText},
               {"Group", Unit::kText, "Of ranks, as torch names it"},
               {"Entered", Unit::kCount, "The number of the last collective that it has entered"},
               {"Collective", Unit::kText},
               {"Open frames", Unit::kText, "Of its training thread, innermost first"}},
              {}};
  if (!report.hang) return table;
  for (const bool culprits : {true, false}) {
    for (const HangTable& each : report.hang_tables) {
      if (has(report.hang->ranks, each.rank) != culprits) continue;
      for (const std::string& group : waiting_groups(report)) {
        table.rows.push_back(row_of(session, report, each, group));
      }
    }
  }
  return table;
}

}  // namespace redline::viewer
