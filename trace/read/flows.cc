#include "trace/read/links.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/free_memory.h"
#include "base/natural_sort.h"
#include "base/parallel.h"
#include "trace/model/category.h"
#include "trace/model/correlation_table.h"

namespace redline::trace {
namespace {

constexpr size_t kPartSlices = 1 << 16;
constexpr size_t kPartEnds = 1 << 11;

bool fits(Category category, const FlowEnd& end) {
  switch (end.kind) {
    case FlowKind::kLaunch:
      return end.is_start ? is_launch(category) : is_launched(category);
    case FlowKind::kForwardBackward:
      return category == Category::kCpuOp;
    default:
      return true;
  }
}

std::vector<SliceId> launched_slices(const PlacedTracks& placed) {
  constexpr uint32_t kLaunched = bit_of(Category::kKernel) | bit_of(Category::kMemcpy) |
                                 bit_of(Category::kMemset) | bit_of(Category::kSync);
  std::vector<SliceId> found;
  for (const Lane& lane : placed.lanes) {
    if ((placed.categories[lane.track.value] & kLaunched) == 0) continue;
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      if (placed.slices.correlation[i] != 0 && is_launched(placed.slices.category[i])) {
        found.push_back(SliceId{i});
      }
    }
  }
  return found;
}

// Finds the slice that a flow event means. It is fast if successive events lie near each other.
class SliceFinder {
 public:
  explicit SliceFinder(const PlacedTracks& placed) : placed_(&placed), last_(placed.lanes.size()) {}

  /// The slice that begins at the flow's time and is of the right kind, the outermost of several;
  /// else the innermost slice around that time.
  [[nodiscard]] SliceId find(const FlowEnd& end) {
    const TrackId track_id = placed_->track_of_rows[end.track];
    if (!track_id) return SliceId::none();
    const Track& track = placed_->tracks[track_id.value];
    SliceId innermost;
    for (uint32_t depth = 0; depth < track.lane_count; ++depth) {
      const SliceId slice = last_begun(track.first_lane.value + depth, end.time_ns);
      if (!slice || placed_->slices.end_ns[slice.value] < end.time_ns) continue;
      if (!fits(placed_->slices.category[slice.value], end)) continue;
      if (placed_->slices.begin_ns[slice.value] == end.time_ns) return slice;
      innermost = slice;
    }
    return innermost;
  }

 private:
  // Searches from the lane's last answer, farther and farther away.
  [[nodiscard]] SliceId last_begun(uint32_t lane_id, int64_t time_ns) {
    const Lane& lane = placed_->lanes[lane_id];
    const auto begins = placed_->slices.begin_ns.subspan(lane.first.value, lane.count);
    size_t low = last_[lane_id], high = low;  // begins[low) are at or before time_ns, [high) after
    for (size_t step = 4; low > 0 && begins[low - 1] > time_ns; step *= 4) {
      high = low - 1;
      low -= std::min(low, step);
    }
    for (size_t step = 4; high < begins.size() && begins[high] <= time_ns; step *= 4) {
      low = high + 1;
      high = std::min(begins.size(), high + step);
    }
    const auto after = std::upper_bound(begins.begin() + static_cast<ptrdiff_t>(low),
                                        begins.begin() + static_cast<ptrdiff_t>(high), time_ns);
    const auto count = static_cast<size_t>(after - begins.begin());
    last_[lane_id] = static_cast<uint32_t>(count);
    if (count == 0) return SliceId::none();
    return SliceId{lane.first.value + static_cast<uint32_t>(count) - 1};
  }

  const PlacedTracks* placed_;
  std::vector<uint32_t> last_;  // by lane: how many slices had begun
};

bool is_before(const Flow& left, const Flow& right) {
  return left.from != right.from ? left.from < right.from : left.to < right.to;
}

class FlowLinker {
 public:
  FlowLinker(const PlacedTracks& placed, unsigned threads)
      : placed_(placed),
        threads_(threads),
        works_(launched_slices(placed), placed.slices.correlation),
        has_launch_(placed.slices.begin_ns.size(), false) {}

  std::vector<Flow> link(std::span<const std::unique_ptr<EventRows>> rows, int64_t base_ns) {
    link_by_correlation();
    std::vector<FlowEnd> ends = gather_unknown(rows);
    for (FlowEnd& end : ends) end.time_ns += base_ns;
    find_launches(ends);
    link_by_events(ends);
    natural_sort(std::span(flows_), is_before);
    return std::move(flows_);
  }

 private:
  /// A launch and the work that has its correlation number.
  struct Pair {
    SliceId launch;
    CorrelationTable::Entry* work;
  };

  // The first launch of a number gets all the work of that number.
  void link_by_correlation() {
    const Slices& slices = placed_.slices;
    const size_t count = slices.category.size();
    std::vector<std::vector<Pair>> parts((count + kPartSlices - 1) / kPartSlices);
    for_each_index(threads_, parts.size(), [&](size_t part, unsigned) {
      const size_t end = std::min(count, (part + 1) * kPartSlices);
      for (size_t i = part * kPartSlices; i < end; ++i) {
        if (!is_launch(slices.category[i])) continue;
        CorrelationTable::Entry* const work = works_.find(slices.correlation[i]);
        if (work != nullptr) parts[part].push_back({SliceId{static_cast<uint32_t>(i)}, work});
      }
    });
    size_t linked = 0;
    for (const auto& part : parts) linked += part.size();
    if (has_several_processes()) leave_shared_numbers(parts);
    flows_.reserve(linked + linked / 4);
    for (const auto& part : parts) {
      for (const auto& [launch, work] : part) {
        if (work->is_linked != 0) continue;
        work->is_linked = 1;
        works_.for_each_work(*work, [&, from = launch](SliceId to) {
          flows_.push_back({from, to, FlowKind::kLaunch});
          has_launch_[to.value] = true;
        });
      }
    }
  }

  // Of a file that another tool merged: each process counts its launches from 1.
  [[nodiscard]] bool has_several_processes() const {
    constexpr uint32_t kLaunches = bit_of(Category::kRuntime) | bit_of(Category::kDriver);
    std::set<StringId> pids;
    for (size_t i = 0; i < placed_.tracks.size(); ++i) {
      if ((placed_.categories[i] & kLaunches) != 0) pids.insert(placed_.tracks[i].pid);
    }
    return pids.size() > 1;
  }

  // Nobody knows whose the work of a number is that launches of two processes have: their flow
  // events share it, too. So it is left without a launch.
  void leave_shared_numbers(std::span<const std::vector<Pair>> parts) {
    std::unordered_map<const CorrelationTable::Entry*, StringId> pids;
    for (const auto& part : parts) {
      for (const auto& [launch, work] : part) {
        const Lane& lane = placed_.lanes[placed_.slices.lane[launch.value].value];
        const StringId pid = placed_.tracks[lane.track.value].pid;
        if (pids.try_emplace(work, pid).first->second != pid) work->is_linked = 1;
      }
    }
  }

  // Collects the flow events that tell something new. The ids of Kineto's launch flows are
  // correlation numbers, and those were linked before.
  std::vector<FlowEnd> gather_unknown(std::span<const std::unique_ptr<EventRows>> rows) {
    std::vector<FlowEnd> ends;
    for (const auto& chunk : rows) {
      std::ranges::copy_if(chunk->flow_ends, std::back_inserter(ends), [&](const FlowEnd& end) {
        if (end.kind != FlowKind::kLaunch) return true;
        const CorrelationTable::Entry* const work = works_.find(end.id);
        return work == nullptr || work->is_linked == 0;
      });
      free_memory(chunk->flow_ends);
    }
    return ends;
  }

  // Finds launches for ends whose start event was not kept (EventCollector::is_known_from_slice).
  void find_launches(std::span<const FlowEnd> ends) {
    SliceFinder finder(placed_);
    for (const FlowEnd& end : ends) {
      if (end.kind != FlowKind::kLaunch || end.is_start) continue;
      if (finder.find(end)) launches_.try_emplace(end.id);
    }
    if (launches_.empty()) return;
    const Slices& slices = placed_.slices;
    for (uint32_t i = 0; i < slices.category.size(); ++i) {
      if (slices.correlation[i] == 0 || !is_launch(slices.category[i])) continue;
      const auto wanted = launches_.find(slices.correlation[i]);
      if (wanted != launches_.end() && !wanted->second) wanted->second = SliceId{i};
    }
  }

  // Splits the ends into parts by id, because ends of one id belong together.
  void link_by_events(std::span<const FlowEnd> ends) {
    if (ends.empty()) return;
    const uint64_t largest = std::ranges::max(ends, {}, &FlowEnd::id).id;
    const size_t part_count = ends.size() / kPartEnds + 1;
    const uint64_t ids_a_part = std::max<uint64_t>(1, largest / part_count);
    std::vector<std::vector<FlowEnd>> parts(part_count);
    for (const FlowEnd& end : ends) {
      parts[std::min<uint64_t>(end.id / ids_a_part, part_count - 1)].push_back(end);
    }
    std::vector<std::vector<Flow>> found(part_count);
    std::vector<SliceFinder> finders(threads_, SliceFinder(placed_));
    for_each_index(threads_, part_count, [&](size_t part, unsigned thread) {
      found[part] = flows_of(parts[part], finders[thread]);
      std::ranges::sort(found[part], is_before);
      parts[part] = {};
    });
    for (const auto& part : found) flows_.insert(flows_.end(), part.begin(), part.end());
  }

  // What is equal of the ends of one flow. Each process counts its forward operators from 1, and in
  // a file that another tool merged several do. Flows of other kinds may lead to other processes.
  [[nodiscard]] std::tuple<FlowKind, uint64_t, StringId> flow_of(const FlowEnd& end) const {
    const bool is_of_process = end.kind == FlowKind::kForwardBackward;
    const TrackId track = is_of_process ? placed_.track_of_rows[end.track] : TrackId::none();
    return {end.kind, end.id, track ? placed_.tracks[track.value].pid : StringId::none()};
  }

  // A start binds to all ends of its flow that come before the next start of that flow.
  [[nodiscard]] std::vector<Flow> flows_of(std::span<FlowEnd> ends, SliceFinder& finder) const {
    std::ranges::sort(ends, {}, [this](const FlowEnd& end) {
      return std::tuple(flow_of(end), end.time_ns, !end.is_start);
    });
    std::vector<Flow> flows;
    const FlowEnd* start = nullptr;
    SliceId from;
    for (const FlowEnd& end : ends) {
      if (end.is_start) {
        start = &end;
        from = finder.find(end);
        continue;
      }
      const bool has_start = start != nullptr && flow_of(*start) == flow_of(end);
      const SliceId origin = has_start && from ? from : launch_of(end);
      if (!origin) continue;
      const SliceId to = finder.find(end);
      if (!to || origin == to) continue;
      if (end.kind == FlowKind::kLaunch && has_launch_[to.value]) continue;
      flows.push_back({origin, to, end.kind});
    }
    return flows;
  }

  [[nodiscard]] SliceId launch_of(const FlowEnd& end) const {
    if (end.kind != FlowKind::kLaunch) return SliceId::none();
    const auto found = launches_.find(end.id);
    return found != launches_.end() ? found->second : SliceId::none();
  }

  const PlacedTracks& placed_;
  unsigned threads_;
  CorrelationTable works_;
  /// By correlation number, for ends without work of that number.
  std::unordered_map<uint64_t, SliceId> launches_;
  std::vector<bool> has_launch_;
  std::vector<Flow> flows_;
};

}  // namespace

std::vector<Flow> link_flows(const PlacedTracks& placed,
                             std::span<const std::unique_ptr<EventRows>> rows, int64_t base_ns,
                             unsigned threads) {
  return FlowLinker(placed, threads).link(rows, base_ns);
}

}  // namespace redline::trace
