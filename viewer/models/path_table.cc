#include "viewer/models/path_table.h"

#include <algorithm>
#include <array>

#include "viewer/models/format.h"
#include "viewer/models/report_tables.h"
#include "viewer/models/session_report.h"

namespace redline::viewer {
namespace {

using trace::BreakdownPart;
using trace::CriticalPath;
using trace::PathPart;

// Parts that have no name of their own, or not one of the few that are listed.
std::string rest_name(BreakdownPart kind) {
  switch (kind) {
    case BreakdownPart::kOther:
      return "(the host, outside of operators)";
    case BreakdownPart::kDeviceWait:
      return "(the GPU, between pieces of work launched long before)";
    case BreakdownPart::kLaunchDelay:
      return "(from a launch to its work)";
    default:
      return "(all other)";
  }
}

/// The rows of one trace.
class Rows {
 public:
  Rows(const trace::Analysis& analysis, const std::string& rank, std::optional<uint32_t> trace)
      : trace_(*analysis.trace), path_(*analysis.critical_path), rank_(rank), index_(trace) {}

  void add_to(Table& table) const {
    const auto first = static_cast<std::ptrdiff_t>(table.rows.size());
    std::array<int64_t, trace::kStepPartCount> left = path_.mean_ns;
    for (const trace::PathName& part : path_.names) {
      const int64_t ns = part.total_ns / path_.steps;
      left[static_cast<size_t>(part.kind)] -= ns;
      const std::string name(trace_.string(part.name));
      TableRow row = row_of(is_on_device(part.kind) ? TableValue::kernel(name) : TableValue(name),
                            part.kind, ns, part.count);
      if (!lead_to(row, [&](const PathPart& each) {
            return each.kind == part.kind && each.slice &&
                   trace_.slices().name[each.slice.value] == part.name;
          })) {
        row.name = name;
      }
      table.rows.push_back(std::move(row));
    }
    for (size_t kind = 0; kind < left.size(); ++kind) {
      if (left[kind] <= 0) continue;
      const auto part = static_cast<BreakdownPart>(kind);
      TableRow row = row_of(rest_name(part), part, left[kind], {});
      const bool has_names = rest_name(part) == rest_name(BreakdownPart::kKernel);
      if (!has_names) lead_to(row, [&](const PathPart& each) { return each.kind == part; });
      table.rows.push_back(std::move(row));
    }
    std::stable_sort(table.rows.begin() + first, table.rows.end(),
                     [](const TableRow& left_row, const TableRow& right_row) {
                       return left_row.values[4].whole() > right_row.values[4].whole();
                     });
  }

 private:
  [[nodiscard]] TableRow row_of(TableValue name, BreakdownPart kind, int64_t ns,
                                TableValue count) const {
    return {{std::move(name), rank_, std::string(trace::part_name(kind)), std::move(count), ns,
             share_of(ns, step_ns_)},
            {},
            {}};
  }
  // Only the longest parts are kept, the longest first.
  template <typename Test>
  bool lead_to(TableRow& row, const Test& is_it) const {
    const auto part = std::find_if(path_.longest.begin(), path_.longest.end(), is_it);
    if (!index_ || part == path_.longest.end()) return false;
    row.time = TimeRef{*index_, part->interval.begin_ns, part->interval.end_ns};
    return true;
  }

  const trace::Trace& trace_;
  const CriticalPath& path_;
  std::string rank_;
  std::optional<uint32_t> index_;
  int64_t step_ns_ = path_.step_ns();
};

}  // namespace

Table critical_path_rows(const Session& session, const trace::Report& report) {
  Table table{"Critical path",
              {{"On the critical path", Unit::kName},
               {"Rank", Unit::kText},
               {"Part", Unit::kText, "What the time is spent on"},
               {"Parts", Unit::kCount, "Pieces of the path in all steps"},
               {"A step", Unit::kDuration, "Of an average step: the rows sum to it"},
               {"Share", Unit::kShare}},
              {}};
  if (!has_marked_steps(report)) {
    table.columns[3].meaning = "Pieces of the path";
    table.columns[4] = {"Time", Unit::kDuration, "The rows sum to the path"};
  }
  for (const trace::Analysis& analysis : report.analyses) {
    const auto index = trace_of(session, analysis);
    if (!analysis.critical_path || analysis.critical_path->steps == 0) continue;
    const bool is_alone = report.analyses.size() < 2 || !index;
    Rows(analysis, is_alone ? "" : session.traces()[*index].title, index).add_to(table);
  }
  tell_kernels_apart(table);
  return table;
}

}  // namespace redline::viewer
