#include "viewer/models/area.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "viewer/models/find_results.h"

namespace redline::viewer {
namespace {

using trace::Lane;

struct Sums {
  std::string_view name;
  std::vector<int64_t> durations_ns;
  int64_t inside_ns = 0;
  int64_t self_ns = 0;
  int64_t longest_ns = -1;
  SliceRef longest;
};

/// Computes how much of each slice of a lane the lane below covers. Slices must come in order of
/// time.
class Children {
 public:
  Children(const SessionTrace& source, trace::LaneId id) {
    const Lane& lane = source.trace->lanes()[id.value];
    const trace::Track& track = source.trace->tracks()[lane.track.value];
    // The deeper lane of a stream has work that overlaps this lane's, not work inside it.
    if (track.kind == trace::TrackKind::kGpuStream || lane.depth + 1 >= track.lane_count) return;
    columns_ = source.lane_columns(source.trace->lanes()[id.value + 1]);
  }

  int64_t covered_ns(int64_t begin_ns, int64_t end_ns) {
    if (!found_) {
      const auto first = std::upper_bound(columns_.end_ns.begin(), columns_.end_ns.end(), begin_ns);
      next_ = static_cast<size_t>(first - columns_.end_ns.begin());
      found_ = true;
    }
    while (next_ < columns_.size() && columns_.end_ns[next_] <= begin_ns) ++next_;
    int64_t sum = 0;
    for (size_t i = next_; i < columns_.size() && columns_.begin_ns[i] < end_ns; ++i) {
      sum = saturating_sum(sum, saturating_sub(std::min(columns_.end_ns[i], end_ns),
                                               std::max(columns_.begin_ns[i], begin_ns)));
    }
    return sum;
  }

 private:
  LaneColumns columns_;
  size_t next_ = 0;
  bool found_ = false;
};

class Summer {
 public:
  Summer(const Session& session, const Area& area, const std::atomic<bool>* cancel)
      : session_(session), area_(area), cancel_(cancel), of_name_(session.traces().size()) {}

  void add(LaneHit hit) {
    const SessionTrace& source = session_.traces()[hit.trace];
    const Lane& lane = source.trace->lanes()[hit.lane.value];
    const LaneColumns columns = source.lane_columns(lane);
    const int64_t begin = saturating_sum(area_.range.begin_ns, source.origin_ns);
    const int64_t end = saturating_sum(area_.range.end_ns, source.origin_ns);
    Children children(source, hit.lane);
    const auto first = std::upper_bound(columns.end_ns.begin(), columns.end_ns.end(), begin);
    for (auto i = static_cast<size_t>(first - columns.end_ns.begin());
         i < columns.size() && columns.begin_ns[i] < end; ++i) {
      if (++added_ % 65'536 == 0 && cancel_ && cancel_->load()) return;
      const SliceRef ref{hit.trace, {lane.first.value + static_cast<uint32_t>(i)}};
      const int64_t slice_begin = columns.begin_ns[i];
      const int64_t slice_end = columns.end_ns[i];
      const int64_t duration = saturating_sub(slice_end, slice_begin);
      Sums& sums = sums_of(ref);
      sums.durations_ns.push_back(duration);
      sums.inside_ns = saturating_sum(
          sums.inside_ns, saturating_sub(std::min(slice_end, end), std::max(slice_begin, begin)));
      sums.self_ns =
          saturating_sum(sums.self_ns, duration - children.covered_ns(slice_begin, slice_end));
      if (duration > sums.longest_ns) {
        sums.longest_ns = duration;
        sums.longest = ref;
      }
    }
  }

  std::vector<Sums>& sums() { return sums_; }

 private:
  Sums& sums_of(SliceRef ref) {
    const trace::Trace& trace = *session_.traces()[ref.trace].trace;
    const trace::StringId name = trace.slices().name[ref.slice.value];
    std::vector<uint32_t>& known = of_name_[ref.trace];
    if (known.empty()) known.assign(trace.string_count() + 1, UINT32_MAX);
    uint32_t& index = known[name ? name.value : trace.string_count()];
    if (index == UINT32_MAX) {
      const auto [found, is_new] =
          by_text_.try_emplace(trace.string(name), static_cast<uint32_t>(sums_.size()));
      if (is_new) sums_.emplace_back().name = trace.string(name);
      index = found->second;
    }
    return sums_[index];
  }

  const Session& session_;
  const Area& area_;
  const std::atomic<bool>* cancel_;
  size_t added_ = 0;                            // slices
  std::vector<std::vector<uint32_t>> of_name_;  // index in sums_, by trace and StringId
  std::unordered_map<std::string_view, uint32_t> by_text_;
  std::vector<Sums> sums_;
};

}  // namespace

std::vector<LaneHit> lanes_between(const Session& session, const Layout& layout, int top,
                                   int bottom, int scroll) {
  std::vector<LaneHit> lanes;
  for (const Row& row : layout.rows()) {
    for (uint32_t depth = 0; depth < row.lanes; ++depth) {
      const int below = static_cast<int>(depth) * Layout::kLaneHeight;
      const int y = row.view_top(scroll) + below;
      const int y_end = y + Layout::kLaneHeight;
      if (y >= bottom || y_end <= top) continue;
      if (!row.pinned && y_end <= layout.pinned_height()) continue;
      if (const auto hit = layout.lane_at(session, row.top + below)) lanes.push_back(*hit);
    }
  }
  return lanes;
}

std::vector<LaneHit> all_lanes(const Session& session) {
  std::vector<LaneHit> lanes;
  for (uint32_t t = 0; t < session.traces().size(); ++t) {
    const auto count = static_cast<uint32_t>(session.traces()[t].trace->lanes().size());
    for (uint32_t lane = 0; lane < count; ++lane) lanes.push_back({t, {lane}});
  }
  return lanes;
}

AreaSummary summarize_area(const Session& session, const Area& area,
                           const std::atomic<bool>* cancel) {
  AreaSummary summary;
  summary.table = {"Selection",
                   {{"Name", Unit::kName},
                    {"Count", Unit::kCount},
                    {"Sum", Unit::kDuration},
                    {"In the area", Unit::kDuration},
                    {"Self", Unit::kDuration},
                    {"Mean", Unit::kDuration},
                    {"Min", Unit::kDuration},
                    {"p50", Unit::kDuration},
                    {"p99", Unit::kDuration},
                    {"Max", Unit::kDuration}},
                   {}};
  Summer summer(session, area, cancel);
  for (const LaneHit& lane : area.lanes) {
    if (cancel && cancel->load()) return summary;
    summer.add(lane);
  }
  for (Sums& sums : summer.sums()) {
    if (cancel && cancel->load()) break;
    const Quantiles spread = quantiles_of(sums.durations_ns);
    summary.slices += sums.durations_ns.size();
    summary.table.rows.push_back(
        {{name_value(session, sums.longest), static_cast<int64_t>(sums.durations_ns.size()),
          spread.sum, sums.inside_ns, sums.self_ns, spread.mean(), spread.min, spread.p50,
          spread.p99, spread.max},
         sums.longest,
         std::string(sums.name)});
  }
  tell_kernels_apart(summary.table);
  return summary;
}

}  // namespace redline::viewer
