#include "viewer/models/roofline.h"

#include "base/format.h"
#include "viewer/models/derived_tracks.h"

namespace redline::viewer {
namespace {

using trace::RooflineRow;

// The longest call of the row.
SliceRef longest_call(const Session& session, const trace::Report& report, const RooflineRow& row) {
  const trace::Analysis* analysis =
      analysis_at(report, static_cast<size_t>(row.summary - report.traces.data()));
  const auto trace = analysis ? trace_of(session, *analysis) : std::nullopt;
  if (!trace) return {};
  const auto& slices = analysis->trace->slices();
  const auto index = static_cast<uint32_t>(row.shape - row.summary->shapes.rows.data());
  SliceRef longest;
  int64_t longest_ns = -1;
  for (const trace::ShapeCall& call : analysis->shapes.calls) {
    if (call.row != index) continue;
    const int64_t ns = slices.end_ns[call.slice.value] - slices.begin_ns[call.slice.value];
    if (ns <= longest_ns) continue;
    longest_ns = ns;
    longest = {*trace, call.slice};
  }
  return longest;
}

}  // namespace

Table roofline_table(const Session& session, const trace::Report& report) {
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
  for (const RooflineRow& row : trace::shown_roofline_rows(report.traces)) {
    const trace::RooflinePoint& point = row.point;
    TableRow line;
    line.slice = longest_call(session, report, row);
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
    picture.names.push_back(trace::roofline_name(rows[circle.row]));
  }
  return picture;
}

}  // namespace redline::viewer
