#include "trace/lanes.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "trace/natural_sort.h"
#include "trace/parallel.h"

namespace redline::trace {
namespace {

// Parents before their children; slices of one interval stay in the file's order.
bool opens_before(const SliceRow& left, const SliceRow& right) {
  if (left.begin_ns != right.begin_ns) return left.begin_ns < right.begin_ns;
  if (left.end_ns != right.end_ns) return left.end_ns > right.end_ns;
  return left.text_offset < right.text_offset;
}

// What one track needs to be placed: how many slices each depth has.
struct Depths {
  std::vector<uint32_t> counts;
  int64_t end_ns = INT64_MIN;
};

// Sorts the track's slices and writes their depths over SliceRow::track.
Depths sort_into_depths(std::span<SliceRow> slices) {
  natural_sort(slices, opens_before);
  Depths depths;
  std::vector<int64_t> lane_end_ns;
  size_t open = 0;  // lanes [0, open) may hold a slice that has not ended
  for (SliceRow& row : slices) {
    while (open > 0 && lane_end_ns[open - 1] <= row.begin_ns) --open;
    if (open == lane_end_ns.size()) {
      lane_end_ns.push_back(0);
      depths.counts.push_back(0);
    }
    lane_end_ns[open] = row.end_ns;
    depths.end_ns = std::max(depths.end_ns, row.end_ns);
    ++depths.counts[open];
    row.track = static_cast<uint32_t>(open);
    ++open;
  }
  return depths;
}

void store(const SliceColumns& columns, size_t index, const SliceRow& row, LaneId lane) {
  columns.begin_ns[index] = row.begin_ns;
  columns.end_ns[index] = row.end_ns;
  columns.text_offset[index] = row.text_offset;
  columns.name[index] = row.name;
  columns.lane[index] = lane;
  columns.correlation[index] = row.correlation;
  columns.category[index] = row.category;
}

// The track's lanes, its slices from `first` on. Returns the slice behind its last one.
uint32_t add_lanes(TrackRows& rows, TrackId id, const Depths& depths, uint32_t first,
                   std::vector<Lane>& lanes) {
  rows.track.first_lane = LaneId{static_cast<uint32_t>(lanes.size())};
  rows.track.lane_count = static_cast<uint32_t>(depths.counts.size());
  for (uint32_t depth = 0; depth < depths.counts.size(); ++depth) {
    lanes.push_back({id, depth, SliceId{first}, depths.counts[depth]});
    first += depths.counts[depth];
  }
  return first;
}

void fill_columns(const TrackRows& rows, std::span<const Lane> lanes, const SliceColumns& columns) {
  const uint32_t first_lane = rows.track.first_lane.value;
  std::vector<uint32_t> next(rows.track.lane_count);
  for (uint32_t depth = 0; depth < next.size(); ++depth) {
    next[depth] = lanes[first_lane + depth].first.value;
  }
  for (const SliceRow& row : rows.slices) {
    store(columns, next[row.track]++, row, LaneId{first_lane + row.track});
  }
}

// The tracks that have slices, in the order of the timeline.
std::vector<uint32_t> display_order(std::span<const TrackRows> gathered) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < gathered.size(); ++i) {
    if (!gathered[i].slices.empty()) order.push_back(i);
  }
  const auto key = [&](uint32_t index) {
    const TrackRows& rows = gathered[index];
    return std::tuple(rows.process_sort_index, rows.process_first_offset, rows.track.sort_index,
                      rows.first_offset, index);
  };
  std::sort(order.begin(), order.end(),
            [&](uint32_t left, uint32_t right) { return key(left) < key(right); });
  return order;
}

}  // namespace

PlacedTracks place_tracks(std::span<TrackRows> gathered, unsigned threads) {
  const std::vector<uint32_t> order = display_order(gathered);
  std::vector<uint32_t> largest_first = order;
  std::stable_sort(largest_first.begin(), largest_first.end(), [&](uint32_t left, uint32_t right) {
    return gathered[left].slices.size() > gathered[right].slices.size();
  });
  std::vector<Depths> depths(gathered.size());
  for_each_index(threads, order.size(), [&](size_t index, unsigned) {
    const uint32_t track = largest_first[index];
    depths[track] = sort_into_depths(gathered[track].slices);
  });

  PlacedTracks out;
  out.track_of_rows.resize(gathered.size());
  uint32_t count = 0;
  for (const uint32_t index : order) {
    TrackRows& rows = gathered[index];
    const TrackId id{static_cast<uint32_t>(out.tracks.size())};
    out.track_of_rows[index] = id;
    if (count == 0) out.begin_ns = INT64_MAX, out.end_ns = INT64_MIN;
    out.begin_ns = std::min(out.begin_ns, rows.slices.front().begin_ns);
    out.end_ns = std::max(out.end_ns, depths[index].end_ns);
    count = add_lanes(rows, id, depths[index], count, out.lanes);
    out.tracks.push_back(rows.track);
  }

  const auto memory = ColumnMemory::allocate(SliceColumns::bytes_of(count));
  const SliceColumns columns = SliceColumns::in(memory->data(), count);
  for_each_index(threads, order.size(), [&](size_t index, unsigned) {
    fill_columns(gathered[largest_first[index]], out.lanes, columns);
  });
  out.memory = memory;
  out.slices = columns.view();
  return out;
}

}  // namespace redline::trace
