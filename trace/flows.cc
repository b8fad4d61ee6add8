#include "trace/flows.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "trace/category.h"
#include "trace/natural_sort.h"
#include "trace/parallel.h"

namespace redline::trace {
namespace {

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

// Launches by correlation number. Those are mostly small, so a table holds them.
class LaunchTable {
 public:
  struct Entry {
    uint32_t slice_plus_one : 31 = 0;  ///< 0: no launch, which is what fresh pages hold
    uint32_t is_linked : 1 = 0;

    [[nodiscard]] SliceId launch() const {
      return SliceId{static_cast<uint32_t>(slice_plus_one) - 1U};
    }
  };

  explicit LaunchTable(const Slices& slices)
      : memory_(ColumnMemory::allocate((largest_in_table(slices) + 1) * sizeof(Entry))),
        table_(reinterpret_cast<Entry*>(memory_->data()), memory_->size() / sizeof(Entry)) {
    for (uint32_t i = 0; i < slices.category.size(); ++i) {
      const uint32_t correlation = slices.correlation[i];
      if (correlation == 0 || !is_launch(slices.category[i])) continue;
      Entry& entry = correlation < table_.size() ? table_[correlation] : others_[correlation];
      if (entry.slice_plus_one == 0) entry.slice_plus_one = (i + 1) & INT32_MAX;
    }
  }

  /// Null where no launch has the number.
  [[nodiscard]] Entry* find(uint64_t correlation) {
    if (correlation < table_.size()) {
      Entry& entry = table_[correlation];
      return entry.slice_plus_one != 0 ? &entry : nullptr;
    }
    const auto found = others_.find(correlation);
    return found == others_.end() ? nullptr : &found->second;
  }

 private:
  static size_t largest_in_table(const Slices& slices) {
    const size_t limit = slices.correlation.size() * 4;
    size_t largest = 0;
    for (const uint32_t correlation : slices.correlation) {
      if (correlation <= limit) largest = std::max<size_t>(largest, correlation);
    }
    return largest;
  }

  std::shared_ptr<ColumnMemory> memory_;
  std::span<Entry> table_;
  std::unordered_map<uint64_t, Entry> others_;
};

class FlowLinker {
 public:
  FlowLinker(const PlacedTracks& placed, unsigned threads)
      : placed_(placed),
        threads_(threads),
        launches_(placed.slices),
        has_launch_(placed.slices.begin_ns.size(), false) {}

  std::vector<Flow> link(std::span<const std::unique_ptr<EventRows>> rows, int64_t base_ns) {
    link_by_correlation();
    std::vector<FlowEnd> ends = gather_unknown(rows);
    for (FlowEnd& end : ends) end.time_ns += base_ns;
    link_by_events(ends);
    natural_sort(std::span(flows_), [](const Flow& left, const Flow& right) {
      return left.from != right.from ? left.from < right.from : left.to < right.to;
    });
    return std::move(flows_);
  }

 private:
  void link_by_correlation() {
    const Slices& slices = placed_.slices;
    for (uint32_t i = 0; i < slices.category.size(); ++i) {
      if (slices.correlation[i] == 0 || !is_launched(slices.category[i])) continue;
      LaunchTable::Entry* const entry = launches_.find(slices.correlation[i]);
      if (entry == nullptr) continue;
      flows_.push_back({entry->launch(), SliceId{i}, FlowKind::kLaunch});
      entry->is_linked = 1;
      has_launch_[i] = true;
    }
  }

  // Kineto's launch flows have the correlation number for an id, and say what is known by now; and
  // an end of an id without a start says nothing, but for a launch of that number, whose start the
  // collector need not have kept.
  std::vector<FlowEnd> gather_unknown(std::span<const std::unique_ptr<EventRows>> rows) {
    for_each_index(threads_, rows.size(), [&](size_t index, unsigned) {
      std::erase_if(rows[index]->flow_ends, [&](const FlowEnd& end) {
        if (end.kind != FlowKind::kLaunch) return false;
        const LaunchTable::Entry* const entry = launches_.find(end.id);
        return entry != nullptr && entry->is_linked != 0;
      });
    });
    constexpr size_t kBits = size_t{1} << 22;  // ids share bits, which only lets some more through
    std::vector<bool> started(kBits);
    for (const auto& chunk : rows) {
      for (const FlowEnd& end : chunk->flow_ends) {
        if (end.is_start) started[end.id % kBits] = true;
      }
    }
    std::vector<FlowEnd> ends;
    for (const auto& chunk : rows) {
      std::copy_if(
          chunk->flow_ends.begin(), chunk->flow_ends.end(), std::back_inserter(ends),
          [&](const FlowEnd& end) { return started[end.id % kBits] || launch_of(end) != nullptr; });
      chunk->flow_ends = {};
    }
    return ends;
  }

  [[nodiscard]] const LaunchTable::Entry* launch_of(const FlowEnd& end) {
    return end.kind == FlowKind::kLaunch && !end.is_start ? launches_.find(end.id) : nullptr;
  }

  // A start binds to all ends of its id that come before the next start of that id.
  void link_by_events(std::vector<FlowEnd>& ends) {
    std::sort(ends.begin(), ends.end(), [](const FlowEnd& left, const FlowEnd& right) {
      return std::tuple(left.kind, left.id, left.time_ns, !left.is_start) <
             std::tuple(right.kind, right.id, right.time_ns, !right.is_start);
    });
    std::vector<SliceId> slices(ends.size());
    constexpr size_t kPart = 4096;
    for_each_index(threads_, (ends.size() + kPart - 1) / kPart, [&](size_t part, unsigned) {
      const size_t end = std::min(ends.size(), (part + 1) * kPart);
      for (size_t i = part * kPart; i < end; ++i) slices[i] = find_slice(ends[i]);
    });
    const FlowEnd* start = nullptr;
    SliceId from;
    for (size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].is_start) {
        start = &ends[i];
        from = slices[i];
      } else if (start != nullptr && start->kind == ends[i].kind && start->id == ends[i].id &&
                 from) {
        add(from, slices[i], ends[i].kind);
      } else if (const auto* const launch = launch_of(ends[i]); launch != nullptr) {
        add(launch->launch(), slices[i], FlowKind::kLaunch);
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
  unsigned threads_;
  LaunchTable launches_;
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
