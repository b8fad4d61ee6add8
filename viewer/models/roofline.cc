#include "viewer/models/roofline.h"

#include <map>

#include "base/format.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/session_report.h"

namespace redline::viewer {
namespace {

using trace::RooflineRow;

// By row of the rank's shapes the longest call.
std::vector<SliceRef> longest_calls_by_row(const Session& session, const trace::Report& report,
                                           const trace::RankSummary& summary,
                                           const std::atomic<bool>* cancel) {
  std::vector<SliceRef> longest(summary.shapes.rows.size());
  const trace::Analysis* analysis =
      analysis_at(report, static_cast<size_t>(&summary - report.traces.data()));
  const auto trace = analysis ? trace_of(session, *analysis) : std::nullopt;
  if (!trace) return longest;
  for (const trace::ShapeCall& call : analysis->shapes.calls) {
    if (cancel && cancel->load()) break;
    // The file may have changed since it was read for the report.
    if (call.row >= longest.size()) continue;
    keep_longer(session, longest[call.row], {*trace, call.slice});
  }
  return longest;
}

}  // namespace

Table roofline_table(const Session& session, const trace::Report& report,
                     const std::atomic<bool>* cancel) {
  Table table{"Roofline",
              {{"Operator and sizes", Unit::kText},
               {"Lost", Unit::kDuration, "Time beyond what the device needs for it at its peak"},
               {"Of peak", Unit::kShare},
               {"Bound", Unit::kText, "What limits it: computation or memory"},
               {"Calls", Unit::kCount},
               {"Time", Unit::kDuration, "Of its GPU work; without a GPU, of the operator itself"},
               {"TFLOP/s", Unit::kRate},
               {"Memory", Unit::kBytesPerSecond}},
              {}};
  std::map<const trace::RankSummary*, std::vector<SliceRef>> longest;
  for (const RooflineRow& row : trace::shown_roofline_rows(report.traces)) {
    if (cancel && cancel->load()) break;
    const trace::RooflinePoint& point = row.point;
    std::vector<SliceRef>& calls = longest[row.summary];
    if (calls.empty()) calls = longest_calls_by_row(session, report, *row.summary, cancel);
    TableRow line;
    line.slice = calls[static_cast<size_t>(row.shape - row.summary->shapes.rows.data())];
    line.name = trace::roofline_name(row);
    line.values = {
        line.name,
        point.lost_ns,
        point.percent_of_peak ? TableValue(*point.percent_of_peak / 100) : TableValue(),
        point.bound ? TableValue(std::string(trace::bound_name(*point.bound))) : TableValue(),
        row.shape->count,
        row.shape->taken_ns(),
        point.tflops_per_s,
        point.gb_per_s ? TableValue(*point.gb_per_s * 1e9) : TableValue()};
    table.rows.push_back(std::move(line));
  }
  return table;
}

RooflinePicture roofline_picture(const trace::Report& report) {
  RooflinePicture picture;
  const std::vector<RooflineRow> rows = trace::shown_roofline_rows(report.traces);
  picture.plot = trace::roofline_plot(rows);
  for (const auto& circle : picture.plot.circles) {
    picture.hints.push_back(trace::roofline_hint(rows[circle.row]));
  }
  return picture;
}

}  // namespace redline::viewer
