#include "viewer/models/gaps.h"

#include <algorithm>

#include "trace/emit/name_kinds.h"
#include "trace/model/slice_view.h"
#include "viewer/models/format.h"
#include "viewer/models/session_report.h"

namespace redline::viewer {
namespace {

using trace::Analysis;
using trace::DeviceWork;
using trace::SliceId;
using trace::Trace;

std::vector<Interval> longest_gaps(const DeviceLane& lane) {
  const LaneColumns spans = lane.columns();
  std::vector<Interval> gaps;
  for (size_t i = 1; i < spans.size(); ++i) {
    if (spans.begin_ns[i] > spans.end_ns[i - 1]) {
      gaps.push_back({spans.end_ns[i - 1], spans.begin_ns[i]});
    }
  }
  const auto longer = [](const Interval& left, const Interval& right) {
    return left.length_ns() != right.length_ns() ? left.length_ns() > right.length_ns()
                                                 : left.begin_ns < right.begin_ns;
  };
  const size_t count = std::min(gaps.size(), kMostGaps);
  std::partial_sort(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(count), gaps.end(),
                    longer);
  gaps.resize(count);
  return gaps;
}

/// The work that begins at a time on the device; null if there is none.
const DeviceWork* work_at(const trace::DeviceWorkTable& table, int32_t device, int64_t time_ns) {
  for (const trace::DeviceStream& stream : table.streams) {
    if (stream.device != device) continue;
    const auto rows = table.of(stream);
    const auto found = std::lower_bound(
        rows.begin(), rows.end(), time_ns,
        [](const DeviceWork& row, int64_t at) { return row.interval.begin_ns < at; });
    if (found != rows.end() && found->interval.begin_ns == time_ns) return &*found;
  }
  return nullptr;
}

struct HostWork {
  SliceId slice;
  int64_t inside_ns = 0;
};

// Steps hold everything and say nothing.
HostWork work_of_host(const Trace& trace, const trace::Track& track, const Interval& gap) {
  const trace::Slices& slices = trace.slices();
  HostWork most;
  for (const trace::Lane& lane : trace::lanes_of(trace, track)) {
    const auto ends = trace::of_lane(slices.end_ns, lane);
    const auto first = std::upper_bound(ends.begin(), ends.end(), gap.begin_ns) - ends.begin();
    for (auto i = lane.first.value + static_cast<uint32_t>(first);
         i < lane.end() && slices.begin_ns[i] < gap.end_ns; ++i) {
      if (trace::is_any_step_name(trace.string(slices.name[i]))) continue;
      const int64_t inside =
          std::min(slices.end_ns[i], gap.end_ns) - std::max(slices.begin_ns[i], gap.begin_ns);
      const bool fills_half = 2 * inside >= gap.length_ns();
      const bool half_is_filled = 2 * most.inside_ns >= gap.length_ns();
      if (fills_half || (!half_is_filled && inside > most.inside_ns)) most = {{i}, inside};
    }
  }
  return most;
}

const char* reason(const Trace& trace, SliceId launch, const Interval& gap) {
  if (!launch) return "launch unknown";
  return trace.slices().begin_ns[launch.value] > gap.begin_ns ? "launched late" : "launched before";
}

TableRow row_of(const Session& session, const Analysis& analysis, const DeviceLane& lane,
                const Interval& gap) {
  const Trace& trace = *analysis.trace;
  const auto name = [&](SliceId slice) {
    return slice ? std::string(trace::name_of(trace, slice)) : std::string();
  };
  const DeviceWork* work = work_at(analysis.device_work, lane.device(), gap.end_ns);
  const SliceId launch = work ? work->launch : SliceId::none();
  HostWork host;
  if (launch) host = work_of_host(trace, trace::track_of(trace, launch), gap);
  const TimeRef time{lane.trace(), gap.begin_ns, gap.end_ns};
  const SliceId from =
      launch ? operator_around(trace, analysis.host_tree, launch) : SliceId::none();
  const trace::Step* step = trace::step_at(analysis.steps, &trace::Step::window, gap.begin_ns);
  TableRow row;
  row.values = {launch && !host.slice ? std::string("(nothing recorded)") : name(host.slice),
                gap.length_ns(),
                host.slice ? TableValue(host.inside_ns) : TableValue(),
                session.range_of(time).begin_ns,
                std::string(reason(trace, launch, gap)),
                work ? TableValue::kernel(std::string(trace.string(work->name))) : TableValue(),
                name(from),
                step && step->number ? std::to_string(*step->number) : std::string(),
                gpu_title(session, lane.trace(), lane.device())};
  row.time = time;
  return row;
}

}  // namespace

Table gap_rows(const Session& session, const trace::Report& report, const DerivedTracks& derived) {
  Table table{"Gaps",
              {{"Host meanwhile", Unit::kText},
               {"Idle", Unit::kDuration},
               {"Host for", Unit::kDuration, "How long of the gap it did that"},
               {"At", Unit::kTime},
               {"Ended by work", Unit::kText,
                "launched late: after the gap began, so the host was slow; launched before: it was "
                "already waiting, for another stream or for the GPU"},
               {"Work", Unit::kName},
               {"Launched by", Unit::kText},
               {"Step", Unit::kText},
               {"GPU", Unit::kText}},
              {}};
  for (const DeviceLane& lane : derived.devices) {
    for (const Analysis& analysis : report.analyses) {
      if (trace_of(session, analysis) != lane.trace()) continue;
      for (const Interval& gap : longest_gaps(lane)) {
        table.rows.push_back(row_of(session, analysis, lane, gap));
      }
    }
  }
  std::ranges::stable_sort(table.rows, std::greater(),
                           [](const TableRow& row) { return row.values[1].whole(); });
  return table;
}

std::optional<TableRow> gap_row(const Session& session, const trace::Report& report,
                                const DerivedTracks& derived, TimeRef gap) {
  for (const DeviceLane& lane : derived.devices) {
    const auto idle = lane.gap_at(gap.begin_ns);
    if (!idle || TimeRef{lane.trace(), idle->begin_ns, idle->end_ns} != gap) continue;
    for (const Analysis& analysis : report.analyses) {
      if (trace_of(session, analysis) == gap.trace) return row_of(session, analysis, lane, *idle);
    }
    // In a comparison the report is of the run after.
    return TableRow{
        .values = {std::string("(looked at in the run after only)"), idle->length_ns(),
                   TableValue(), session.range_of(gap).begin_ns, TableValue(), TableValue(),
                   TableValue(), TableValue(), gpu_title(session, gap.trace, lane.device())},
        .slice = {},
        .name = {},
        .time = gap};
  }
  return std::nullopt;
}

}  // namespace redline::viewer
