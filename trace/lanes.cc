#include "trace/lanes.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

namespace redline::trace {
namespace {

// Parents before their children; slices of one interval stay in the file's order.
bool opens_before(const SliceRow& left, const SliceRow& right) {
  return std::tuple(left.begin_ns, -left.end_ns, left.text_offset) <
         std::tuple(right.begin_ns, -right.end_ns, right.text_offset);
}

// The lane depth of each row of a sorted track, and how many slices each depth has.
struct Depths {
  std::vector<uint32_t> of_row;
  std::vector<uint32_t> counts;
};

Depths find_depths(const std::vector<SliceRow>& sorted) {
  Depths depths;
  depths.of_row.reserve(sorted.size());
  std::vector<int64_t> lane_end_ns;
  size_t open = 0;  // lanes [0, open) may hold a slice that has not ended
  for (const SliceRow& row : sorted) {
    while (open > 0 && lane_end_ns[open - 1] <= row.begin_ns) --open;
    if (open == lane_end_ns.size()) {
      lane_end_ns.push_back(0);
      depths.counts.push_back(0);
    }
    lane_end_ns[open] = row.end_ns;
    ++depths.counts[open];
    depths.of_row.push_back(static_cast<uint32_t>(open));
    ++open;
  }
  return depths;
}

void resize(Slices& slices, size_t count) {
  slices.begin_ns.resize(count);
  slices.end_ns.resize(count);
  slices.name.resize(count);
  slices.category.resize(count);
  slices.lane.resize(count);
  slices.correlation.resize(count);
  slices.text_offset.resize(count);
}

void store(Slices& slices, size_t index, const SliceRow& row, LaneId lane) {
  slices.begin_ns[index] = row.begin_ns;
  slices.end_ns[index] = row.end_ns;
  slices.name[index] = row.name;
  slices.category[index] = row.category;
  slices.lane[index] = lane;
  slices.correlation[index] = row.correlation;
  slices.text_offset[index] = row.text_offset;
}

// Appends the track's lanes and fills the columns from `first` on.
void place_track(TrackRows& rows, TrackId track_id, size_t first, PlacedTracks& out) {
  if (!std::is_sorted(rows.slices.begin(), rows.slices.end(), opens_before)) {
    std::sort(rows.slices.begin(), rows.slices.end(), opens_before);
  }
  const Depths depths = find_depths(rows.slices);
  rows.track.first_lane = LaneId{static_cast<uint32_t>(out.lanes.size())};
  rows.track.lane_count = static_cast<uint32_t>(depths.counts.size());

  std::vector<size_t> next(depths.counts.size());
  for (uint32_t depth = 0; depth < depths.counts.size(); ++depth) {
    next[depth] = first;
    out.lanes.push_back(
        {track_id, depth, SliceId{static_cast<uint32_t>(first)}, depths.counts[depth]});
    first += depths.counts[depth];
  }
  for (size_t row = 0; row < rows.slices.size(); ++row) {
    const uint32_t depth = depths.of_row[row];
    store(out.slices, next[depth]++, rows.slices[row], LaneId{rows.track.first_lane.value + depth});
  }
}

std::vector<uint32_t> display_order(const std::vector<TrackRows>& gathered) {
  std::vector<uint32_t> order(gathered.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto key = [&](uint32_t index) {
    const TrackRows& rows = gathered[index];
    return std::tuple(rows.process_sort_index, rows.track.pid, rows.track.sort_index, index);
  };
  std::sort(order.begin(), order.end(),
            [&](uint32_t left, uint32_t right) { return key(left) < key(right); });
  return order;
}

}  // namespace

void pair_edges(TrackRows& rows, IssueLog& issues) {
  if (rows.edges.empty()) return;
  std::stable_sort(
      rows.edges.begin(), rows.edges.end(),
      [](const EdgeRow& left, const EdgeRow& right) { return left.time_ns < right.time_ns; });
  std::vector<EdgeRow> open;
  const auto close = [&](const EdgeRow& begin, int64_t end_ns) {
    rows.slices.push_back(
        {begin.time_ns, end_ns, begin.text_offset, begin.name, 0, begin.category});
  };
  for (const EdgeRow& edge : rows.edges) {
    if (edge.is_begin) {
      open.push_back(edge);
      continue;
    }
    const auto match = std::find_if(open.rbegin(), open.rend(), [&](const EdgeRow& begin) {
      return !edge.name || !begin.name || begin.name == edge.name;
    });
    if (match == open.rend()) {
      issues.lost("end_without_begin", edge.text_offset);
      continue;
    }
    close(*match, edge.time_ns);
    open.erase(std::next(match).base());
  }
  int64_t last_ns = rows.edges.back().time_ns;
  for (const SliceRow& row : rows.slices) last_ns = std::max(last_ns, row.end_ns);
  for (const EdgeRow& begin : open) {
    issues.repaired("begin_without_end", begin.text_offset);
    close(begin, last_ns);
  }
  rows.edges = {};
}

PlacedTracks place_tracks(std::vector<TrackRows>& gathered) {
  PlacedTracks out;
  out.track_of_rows.resize(gathered.size());
  size_t slice_count = 0;
  for (const TrackRows& rows : gathered) slice_count += rows.slices.size();
  resize(out.slices, slice_count);

  size_t first = 0;
  for (const uint32_t index : display_order(gathered)) {
    TrackRows& rows = gathered[index];
    if (rows.slices.empty()) continue;
    const TrackId id{static_cast<uint32_t>(out.tracks.size())};
    out.track_of_rows[index] = id;
    place_track(rows, id, first, out);
    first += rows.slices.size();
    out.tracks.push_back(rows.track);
    rows.slices = {};
  }
  return out;
}

}  // namespace redline::trace
