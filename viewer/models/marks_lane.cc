#include "viewer/models/marks_lane.h"

#include <algorithm>
#include <map>
#include <set>

#include "trace/read/text_cursor.h"
#include "viewer/models/details.h"
#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

bool is_drawn(std::string_view name) {
  return name != "[memory]" && name != "Iteration Start: PyTorch Profiler" &&
         name != "Record Window End";
}

std::map<trace::StringId, std::vector<trace::Instant>> marks_by_process(const trace::Trace& trace) {
  const auto tracks = trace.tracks();
  std::set<trace::StringId> pids;
  for (const trace::Track& track : tracks) pids.insert(track.pid);
  auto first = std::ranges::find(tracks, trace::TrackKind::kCpuThread, &trace::Track::kind);
  if (first == tracks.end()) first = tracks.begin();
  std::map<trace::StringId, std::vector<trace::Instant>> marks;
  for (const trace::Instant& instant : trace.instants()) {
    if (!is_drawn(trace.string(instant.name))) continue;
    // Marks of the whole trace, and of processes without slices, stand with the first process.
    const bool is_shown = tracks.empty() || pids.contains(instant.pid);
    marks[is_shown ? instant.pid : first->pid].push_back(instant);
  }
  return marks;
}

}  // namespace

MarksLane::MarksLane(uint32_t trace, trace::StringId pid, std::vector<trace::Instant> marks)
    : trace_(trace), pid_(pid), marks_(std::move(marks)) {}

std::vector<DrawnMark> MarksLane::draw(const TimeAxis& axis) const {
  std::vector<DrawnMark> drawn;
  const auto at = [&](int64_t time_ns) {
    return std::ranges::lower_bound(marks_, time_ns, {}, &trace::Instant::time_ns);
  };
  for (auto mark = at(axis.begin_ns); mark != marks_.end();) {
    const double x = axis.x_of(mark->time_ns);
    if (x >= axis.width) break;
    const int column = static_cast<int>(x);
    drawn.push_back({column, static_cast<size_t>(mark - marks_.begin())});
    mark = std::max(std::next(mark), at(axis.time_at(column + 1.0)));
  }
  return drawn;
}

std::optional<size_t> MarksLane::mark_at(int64_t time_ns, int64_t tolerance_ns) const {
  const auto distance = [&](const trace::Instant& mark) {
    return mark.time_ns > time_ns ? saturating_sub(mark.time_ns, time_ns)
                                  : saturating_sub(time_ns, mark.time_ns);
  };
  auto nearest = std::ranges::lower_bound(marks_, time_ns, {}, &trace::Instant::time_ns);
  if (nearest != marks_.begin() &&
      (nearest == marks_.end() || distance(*std::prev(nearest)) < distance(*nearest))) {
    --nearest;
  }
  if (nearest == marks_.end() || distance(*nearest) > tolerance_ns) return std::nullopt;
  return static_cast<size_t>(nearest - marks_.begin());
}

std::string MarksLane::text_of(const Session& session, size_t mark) const {
  const SessionTrace& source = session.traces()[trace_];
  const trace::Instant& instant = marks_[mark];
  std::string words = printable(source.trace->string(instant.name).substr(0, 400)) + "\nat " +
                      format_time(saturating_sub(instant.time_ns, source.origin_ns));
  if (source.trace->text().is_changed()) return words;
  for (const DetailField& argument :
       event_arguments(trace::event_text(*source.trace, instant.text_offset))) {
    words += "\n" + argument.name + ": " + argument.value;
  }
  return words;
}

std::vector<MarksLane> marks_lanes(const Session& session, uint32_t trace) {
  std::vector<MarksLane> lanes;
  for (auto& [pid, marks] : marks_by_process(*session.traces()[trace].trace)) {
    lanes.emplace_back(trace, pid, std::move(marks));
  }
  return lanes;
}

}  // namespace redline::viewer
