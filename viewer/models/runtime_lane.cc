#include "viewer/models/runtime_lane.h"

#include <algorithm>

#include "viewer/models/lane_pixels.h"
#include "viewer/models/slice_class.h"

namespace redline::viewer {
namespace {

constexpr auto kRuntime = static_cast<uint8_t>(SliceClass::kRuntime);

bool is_of(const trace::Track& track, trace::StringId pid) {
  return track.kind == trace::TrackKind::kCpuThread && track.pid == pid;
}

std::vector<trace::SliceId> calls_of(const SessionTrace& source, trace::StringId pid) {
  std::vector<trace::SliceId> calls;
  for (const trace::Lane& lane : source.trace->lanes()) {
    if (!is_of(source.trace->tracks()[lane.track.value], pid)) continue;
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      if (source.classes[i] == kRuntime) calls.push_back({i});
    }
  }
  const trace::Slices& slices = source.trace->slices();
  std::ranges::stable_sort(calls, {},
                           [&](trace::SliceId call) { return slices.begin_ns[call.value]; });
  return calls;
}

}  // namespace

RuntimeLane::RuntimeLane(const Session& session, uint32_t trace, trace::StringId pid)
    : trace_(trace), pid_(pid) {
  const SessionTrace& source = session.traces()[trace];
  const trace::Slices& slices = source.trace->slices();
  const std::vector<trace::SliceId> calls = calls_of(source, pid);
  call_count_ = calls.size();
  for (const trace::SliceId call : calls) {
    const int64_t end_ns = slices.end_ns[call.value];
    int64_t begin_ns = slices.begin_ns[call.value];
    if (!end_ns_.empty()) begin_ns = std::max(begin_ns, end_ns_.back());
    if (begin_ns >= end_ns) continue;
    calls_.push_back(call);
    begin_ns_.push_back(begin_ns);
    end_ns_.push_back(end_ns);
  }
  classes_.assign(calls_.size(), kRuntime);
  pyramid_ = LanePyramid(columns());
}

SliceRef RuntimeLane::call_at(int64_t time_ns, int64_t tolerance_ns) const {
  const uint32_t found = slice_at(columns(), time_ns, tolerance_ns);
  if (found == LanePyramid::kNoSlice) return {};
  return {trace_, calls_[found]};
}

std::vector<RuntimeLane> runtime_lanes(const Session& session, uint32_t trace) {
  std::vector<trace::StringId> pids;
  for (const trace::Track& track : session.traces()[trace].trace->tracks()) {
    const bool is_known = std::ranges::find(pids, track.pid) != pids.end();
    if (!is_known && is_of(track, track.pid)) pids.push_back(track.pid);
  }
  std::vector<RuntimeLane> lanes;
  for (const trace::StringId pid : pids) {
    RuntimeLane lane(session, trace, pid);
    if (lane.size() > 0) lanes.push_back(std::move(lane));
  }
  return lanes;
}

}  // namespace redline::viewer
