#include "trace/read/lanes.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "base/parallel.h"

namespace redline::trace {
namespace {

// Computes the depth of each slice of a track; slices must come in order.
class LaneStack {
 public:
  uint32_t place(const SliceRow& row) {
    while (open_ > 0 && lane_end_ns_[open_ - 1] <= row.begin_ns) --open_;
    if (open_ == lane_end_ns_.size()) lane_end_ns_.push_back(0);
    lane_end_ns_[open_] = row.end_ns;
    return static_cast<uint32_t>(open_++);
  }

 private:
  std::vector<int64_t> lane_end_ns_;
  size_t open_ = 0;  // lanes [0, open_) may hold a slice that has not ended
};

// Calls visit(row, name) for the rows of a track in order. `order`: null if the track has one run.
template <typename Visit>
void for_each_row(const TrackRows& rows, const RowOrder* order, Visit visit) {
  if (order != nullptr) return order->for_each(visit);
  for (const SliceRow& row : rows.runs[0].rows) visit(row, rows.runs[0].name_of(row));
}

// The same for the last time: the memory of rows is returned.
template <typename Visit>
void take_each_row(const TrackRows& rows, const RowOrder* order, Visit visit) {
  if (order != nullptr) return order->take_each(visit);
  for_each_row(rows, nullptr, visit);
  rows.runs[0].taken();
}

// What must be known of all tracks before their places in the columns can be computed. Small,
// because a damaged or odd trace may have a million tracks.
struct Survey {
  std::unique_ptr<const RowOrder> order;  // null if the track has one run
  std::vector<uint32_t> counts;           // by depth
  uint32_t categories = 0;
  int64_t begin_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;
};

Survey survey(const TrackRows& rows) {
  Survey found;
  if (rows.runs.size() > 1) found.order = std::make_unique<RowOrder>(rows.runs);
  LaneStack stack;
  for_each_row(rows, found.order.get(), [&](const SliceRow& row, StringId) {
    const uint32_t depth = stack.place(row);
    if (depth == found.counts.size()) found.counts.push_back(0);
    ++found.counts[depth];
    found.categories |= bit_of(row.category);
    found.begin_ns = std::min(found.begin_ns, row.begin_ns);
    found.end_ns = std::max(found.end_ns, row.end_ns);
  });
  return found;
}

// Adds the track's lanes, whose slices begin at `first`. Returns the index behind its last slice.
uint32_t add_lanes(Track& track, TrackId id, const Survey& survey, uint32_t first,
                   std::vector<Lane>& lanes) {
  track.first_lane = LaneId{static_cast<uint32_t>(lanes.size())};
  track.lane_count = static_cast<uint32_t>(survey.counts.size());
  for (uint32_t depth = 0; depth < survey.counts.size(); ++depth) {
    lanes.push_back({id, depth, SliceId{first}, survey.counts[depth]});
    first += survey.counts[depth];
  }
  return first;
}

// Fills the track's columns and gives up its rows.
void fill_columns(const TrackRows& rows, const RowOrder* order, std::span<const Lane> lanes,
                  uint32_t first_lane, int64_t base_ns, const SliceColumns& columns) {
  std::vector<uint32_t> next;
  for (const Lane& lane : lanes) next.push_back(lane.first.value);
  LaneStack stack;
  take_each_row(rows, order, [&](const SliceRow& row, StringId name) {
    const uint32_t depth = stack.place(row);
    const size_t index = next[depth]++;
    columns.begin_ns[index] = row.begin_ns + base_ns;
    columns.end_ns[index] = row.end_ns + base_ns;
    columns.text_offset[index] = row.text_offset;
    columns.name[index] = name;
    columns.lane[index] = LaneId{first_lane + depth};
    columns.correlation[index] = row.correlation;
    columns.category[index] = row.category;
  });
}

// The tracks that have slices, in the order of the timeline.
std::vector<uint32_t> display_order(std::span<const TrackRows> gathered) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < gathered.size(); ++i) {
    if (!gathered[i].runs.empty()) order.push_back(i);
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

// Sorts the tracks by size, so that threads that take one after the other end at about the same
// time.
std::vector<uint32_t> largest_first(std::vector<uint32_t> tracks,
                                    std::span<const TrackRows> gathered) {
  std::vector<size_t> sizes(gathered.size());
  for (const uint32_t track : tracks) {
    for (const RowRun& run : gathered[track].runs) sizes[track] += run.rows.size();
  }
  std::stable_sort(tracks.begin(), tracks.end(),
                   [&](uint32_t left, uint32_t right) { return sizes[left] > sizes[right]; });
  return tracks;
}

}  // namespace

PlacedTracks place_tracks(std::span<const TrackRows> gathered, int64_t base_ns, unsigned threads) {
  const std::vector<uint32_t> order = display_order(gathered);
  const std::vector<uint32_t> by_size = largest_first(order, gathered);
  std::vector<Survey> surveys(gathered.size());
  for_each_index(threads, order.size(), [&](size_t index, unsigned) {
    surveys[by_size[index]] = survey(gathered[by_size[index]]);
  });

  PlacedTracks out;
  out.track_of_rows.resize(gathered.size());
  out.tracks.reserve(order.size());
  out.categories.reserve(order.size());
  out.lanes.reserve(order.size());
  uint32_t count = 0;
  for (const uint32_t index : order) {
    const Survey& found = surveys[index];
    const TrackId id{static_cast<uint32_t>(out.tracks.size())};
    out.track_of_rows[index] = id;
    if (count == 0) out.begin_ns = INT64_MAX, out.end_ns = INT64_MIN;
    out.begin_ns = std::min(out.begin_ns, found.begin_ns + base_ns);
    out.end_ns = std::max(out.end_ns, found.end_ns + base_ns);
    out.tracks.push_back(gathered[index].track);
    out.categories.push_back(found.categories);
    count = add_lanes(out.tracks.back(), id, found, count, out.lanes);
  }

  const auto memory = ColumnMemory::allocate(SliceColumns::bytes_of(count));
  const SliceColumns columns = SliceColumns::in(memory->data(), count);
  for_each_index(threads, order.size(), [&](size_t index, unsigned) {
    const uint32_t rows = by_size[index];
    const Track& track = out.tracks[out.track_of_rows[rows].value];
    const auto lanes = std::span(out.lanes).subspan(track.first_lane.value, track.lane_count);
    fill_columns(gathered[rows], surveys[rows].order.get(), lanes, track.first_lane.value, base_ns,
                 columns);
    surveys[rows].order.reset();
  });
  out.memory = memory;
  out.slices = columns.view();
  return out;
}

}  // namespace redline::trace
