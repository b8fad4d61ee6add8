#include "trace/flows.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace redline::trace {
namespace {

bool is_launch(Category category) {
  return category == Category::kRuntime || category == Category::kDriver;
}

bool is_device_work(Category category) {
  return category == Category::kKernel || category == Category::kMemcpy ||
         category == Category::kMemset || category == Category::kSync;
}

bool fits(Category category, const FlowEnd& end) {
  switch (end.kind) {
    case FlowKind::kLaunch:
      return end.is_start ? is_launch(category) : is_device_work(category);
    case FlowKind::kForwardBackward:
      return category == Category::kCpuOp;
    default:
      return true;
  }
}

class FlowLinker {
 public:
  explicit FlowLinker(const PlacedTracks& placed)
      : placed_(placed), has_launch_(placed.slices.begin_ns.size(), false) {}

  std::vector<Flow> link(std::vector<FlowEnd> ends) {
    link_by_correlation();
    link_by_events(std::move(ends));
    std::sort(flows_.begin(), flows_.end(), [](const Flow& left, const Flow& right) {
      return std::tuple(left.from, left.to) < std::tuple(right.from, right.to);
    });
    return std::move(flows_);
  }

 private:
  void link_by_correlation() {
    const Slices& slices = placed_.slices;
    std::vector<std::pair<uint32_t, SliceId>> launches;
    for (uint32_t i = 0; i < slices.category.size(); ++i) {
      if (slices.correlation[i] != 0 && is_launch(slices.category[i])) {
        launches.emplace_back(slices.correlation[i], SliceId{i});
      }
    }
    std::sort(launches.begin(), launches.end());
    for (uint32_t i = 0; i < slices.category.size(); ++i) {
      if (slices.correlation[i] == 0 || !is_device_work(slices.category[i])) continue;
      const auto launch = std::lower_bound(launches.begin(), launches.end(),
                                           std::pair(slices.correlation[i], SliceId{0}));
      if (launch == launches.end() || launch->first != slices.correlation[i]) continue;
      flows_.push_back({launch->second, SliceId{i}, FlowKind::kLaunch});
      has_launch_[i] = true;
    }
  }

  // A start binds to all ends of its id that come before the next start of that id.
  void link_by_events(std::vector<FlowEnd> ends) {
    std::sort(ends.begin(), ends.end(), [](const FlowEnd& left, const FlowEnd& right) {
      return std::tuple(left.kind, left.id, left.time_ns, !left.is_start) <
             std::tuple(right.kind, right.id, right.time_ns, !right.is_start);
    });
    const FlowEnd* start = nullptr;
    SliceId from;
    for (const FlowEnd& end : ends) {
      if (end.is_start) {
        start = &end;
        from = find_slice(end);
      } else if (start != nullptr && start->kind == end.kind && start->id == end.id && from) {
        add(from, find_slice(end), end.kind);
      }
    }
  }

  void add(SliceId from, SliceId to, FlowKind kind) {
    if (!to || from == to) return;
    if (kind == FlowKind::kLaunch && has_launch_[to.value]) return;
    flows_.push_back({from, to, kind});
  }

  // The slice that begins at the flow's time and is of the right kind, the outermost of several;
  // else the innermost slice around that time.
  [[nodiscard]] SliceId find_slice(const FlowEnd& end) const {
    const TrackId track_id = placed_.track_of_rows[end.track];
    if (!track_id) return SliceId::none();
    const Track& track = placed_.tracks[track_id.value];
    SliceId innermost;
    for (uint32_t depth = 0; depth < track.lane_count; ++depth) {
      const Lane& lane = placed_.lanes[track.first_lane.value + depth];
      const SliceId slice = last_begun(lane, end.time_ns);
      if (!slice || placed_.slices.end_ns[slice.value] < end.time_ns) continue;
      if (!fits(placed_.slices.category[slice.value], end)) continue;
      if (placed_.slices.begin_ns[slice.value] == end.time_ns) return slice;
      innermost = slice;
    }
    return innermost;
  }

  [[nodiscard]] SliceId last_begun(const Lane& lane, int64_t time_ns) const {
    const auto first = placed_.slices.begin_ns.begin() + lane.first.value;
    const auto after = std::upper_bound(first, first + lane.count, time_ns);
    if (after == first) return SliceId::none();
    return SliceId{static_cast<uint32_t>(after - placed_.slices.begin_ns.begin() - 1)};
  }

  const PlacedTracks& placed_;
  std::vector<bool> has_launch_;
  std::vector<Flow> flows_;
};

}  // namespace

std::vector<Flow> link_flows(const PlacedTracks& placed, std::vector<FlowEnd> ends) {
  return FlowLinker(placed).link(std::move(ends));
}

}  // namespace redline::trace
