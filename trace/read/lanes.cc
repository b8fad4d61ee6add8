#include "trace/read/lanes.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <tuple>

#include "base/free_memory.h"
#include "base/parallel.h"

namespace redline::trace {
namespace {

constexpr size_t kMostSearched = 256;  // lanes, so that a damaged trace takes no longer

// Computes the depth of each slice of a track; slices must come in order.
class LaneStack {
 public:
  uint32_t place(const SliceRow& row) {
    while (open_ > 0 && lane_end_ns_[open_ - 1] <= row.begin_ns) --open_;
    const size_t lane = is_annotation_beside(row) ? first_free_below_what_holds(row) : open_;
    if (lane == lane_end_ns_.size()) lane_end_ns_.push_back(0);
    lane_end_ns_[lane] = row.end_ns;
    open_ = std::max(open_, lane + 1);
    return static_cast<uint32_t>(lane);
  }

 private:
  // Such as a step, which begins within the functions that mark it and outlives them. In the lane
  // below them each step would be so much deeper than the one before.
  [[nodiscard]] bool is_annotation_beside(const SliceRow& row) const {
    return row.category == Category::kUserAnnotation && open_ > 0 &&
           lane_end_ns_[open_ - 1] < row.end_ns;
  }
  [[nodiscard]] size_t first_free_below_what_holds(const SliceRow& row) const {
    const size_t top = open_ - std::min(open_, kMostSearched);
    size_t lane = open_;
    while (lane > top && lane_end_ns_[lane - 1] < row.end_ns) --lane;
    while (lane < open_ && lane_end_ns_[lane] > row.begin_ns) ++lane;
    return lane;
  }

  std::vector<int64_t> lane_end_ns_;
  size_t open_ = 0;  // lanes [0, open_) may hold a slice that has not ended
};

// Calls visit(row, name) for the rows of a track in order. `order`: null if the track has one run.
template <typename Visit>
void for_each_row(std::span<const RowRun> runs, const RowOrder* order, Visit visit) {
  if (order != nullptr) return order->for_each(visit);
  for (const SliceRow& row : runs[0].rows) visit(row, runs[0].name_of(row));
}

// The same for the last time: the memory of rows is returned.
template <typename Visit>
void take_each_row(std::span<const RowRun> runs, const RowOrder* order, Visit visit) {
  if (order != nullptr) return order->take_each(visit);
  for_each_row(runs, nullptr, visit);
  runs[0].taken();
}

// What must be known of all tracks before their places in the columns can be computed.
struct Survey {
  std::unique_ptr<const RowOrder> order;  // null if the track has one run
  uint32_t categories = 0;
  uint32_t lanes = 0;
  uint32_t thread = 0;
  uint32_t first_count = 0;  // in the thread's counts
};

// What one thread found in the tracks that it surveyed.
struct alignas(kApartBytes) Surveyor {
  std::vector<uint32_t> counts;  // of slices, by track and depth
  int64_t begin_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;

  Survey survey(std::span<const RowRun> runs) {
    Survey found;
    found.first_count = static_cast<uint32_t>(counts.size());
    if (runs.size() > 1) found.order = std::make_unique<RowOrder>(runs);
    LaneStack stack;
    for_each_row(runs, found.order.get(), [&](const SliceRow& row, StringId) {
      const uint32_t depth = stack.place(row);
      if (depth == found.lanes) {
        counts.push_back(0);
        ++found.lanes;
      }
      ++counts[found.first_count + depth];
      found.categories |= bit_of(row.category);
      begin_ns = std::min(begin_ns, row.begin_ns);
      end_ns = std::max(end_ns, row.end_ns);
    });
    return found;
  }
};

// Adds the track's lanes, whose slices begin at `first`. Returns the index behind its last slice.
uint32_t add_lanes(Track& track, TrackId id, std::span<const uint32_t> counts, uint32_t first,
                   std::vector<Lane>& lanes) {
  track.first_lane = LaneId{static_cast<uint32_t>(lanes.size())};
  track.lane_count = static_cast<uint32_t>(counts.size());
  for (uint32_t depth = 0; depth < counts.size(); ++depth) {
    lanes.push_back({id, depth, SliceId{first}, counts[depth]});
    first += counts[depth];
  }
  return first;
}

// Fills the track's columns and gives up its rows.
void fill_columns(std::span<const RowRun> runs, const RowOrder* order, std::span<const Lane> lanes,
                  uint32_t first_lane, int64_t base_ns, const SliceColumns& columns) {
  std::vector<uint32_t> next;
  for (const Lane& lane : lanes) next.push_back(lane.first.value);
  LaneStack stack;
  take_each_row(runs, order, [&](const SliceRow& row, StringId name) {
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
std::vector<uint32_t> display_order(const GatheredTracks& gathered) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < gathered.tracks.size(); ++i) {
    if (!gathered.runs_of(i).empty()) order.push_back(i);
  }
  const auto key = [&](uint32_t index) {
    const GatheredTracks::Order& of_track = gathered.orders[index];
    return std::tuple(of_track.process_sort_index, of_track.process_first_offset,
                      gathered.tracks[index].sort_index, of_track.first_offset, index);
  };
  std::ranges::sort(order, {}, key);
  return order;
}

// Leaves the tracks of `order`, in this order, without a second vector of them.
void keep_in_order(std::vector<Track>& tracks, const std::vector<uint32_t>& order) {
  std::vector<uint32_t> sources = order;
  std::vector<bool> is_done(tracks.size());
  for (const uint32_t source : order) is_done[source] = true;
  for (uint32_t i = 0; i < tracks.size(); ++i) {
    if (!is_done[i]) sources.push_back(i);
  }
  is_done.assign(tracks.size(), false);
  for (uint32_t begin = 0; begin < tracks.size(); ++begin) {
    const Track first = tracks[begin];
    for (uint32_t at = begin; !is_done[at]; at = sources[at]) {
      is_done[at] = true;
      tracks[at] = sources[at] == begin ? first : tracks[sources[at]];
    }
  }
  tracks.resize(order.size());
}

// Sorts the tracks by size, so that threads that take one after the other end at about the same
// time.
std::vector<uint32_t> largest_first(std::vector<uint32_t> tracks, const GatheredTracks& gathered) {
  std::vector<size_t> sizes(gathered.tracks.size());
  for (const uint32_t track : tracks) {
    for (const RowRun& run : gathered.runs_of(track)) sizes[track] += run.rows.size();
  }
  std::ranges::stable_sort(tracks, std::greater(), [&](uint32_t i) { return sizes[i]; });
  return tracks;
}

}  // namespace

PlacedTracks place_tracks(GatheredTracks gathered, int64_t base_ns, unsigned threads) {
  const std::vector<uint32_t> order = display_order(gathered);
  free_memory(gathered.orders);
  const std::vector<uint32_t> by_size = largest_first(order, gathered);
  std::vector<Survey> surveys(gathered.tracks.size());
  std::vector<Surveyor> surveyors(thread_count(threads));
  for_each_index(threads, order.size(), [&](size_t index, unsigned thread) {
    const uint32_t track = by_size[index];
    surveys[track] = surveyors[thread].survey(gathered.runs_of(track));
    surveys[track].thread = thread;
  });

  PlacedTracks out;
  out.track_of_rows.resize(gathered.tracks.size());
  out.tracks = std::move(gathered.tracks);
  keep_in_order(out.tracks, order);
  out.categories.reserve(order.size());
  out.lanes.reserve(order.size());
  uint32_t count = 0;
  for (uint32_t i = 0; i < order.size(); ++i) {
    const Survey& found = surveys[order[i]];
    out.track_of_rows[order[i]] = TrackId{i};
    out.categories.push_back(found.categories);
    const auto counts = std::span<const uint32_t>(surveyors[found.thread].counts)
                            .subspan(found.first_count, found.lanes);
    count = add_lanes(out.tracks[i], TrackId{i}, counts, count, out.lanes);
  }
  if (count > 0) {
    out.begin_ns = std::ranges::min(surveyors, {}, &Surveyor::begin_ns).begin_ns + base_ns;
    out.end_ns = std::ranges::max(surveyors, {}, &Surveyor::end_ns).end_ns + base_ns;
  }

  const auto memory = ColumnMemory::allocate(SliceColumns::bytes_of(count));
  const SliceColumns columns = SliceColumns::in(memory->data(), count);
  for_each_index(threads, order.size(), [&](size_t index, unsigned) {
    const uint32_t rows = by_size[index];
    const Track& track = out.tracks[out.track_of_rows[rows].value];
    const auto lanes = std::span(out.lanes).subspan(track.first_lane.value, track.lane_count);
    fill_columns(gathered.runs_of(rows), surveys[rows].order.get(), lanes, track.first_lane.value,
                 base_ns, columns);
    surveys[rows].order.reset();
  });
  out.memory = memory;
  out.slices = columns.view();
  return out;
}

}  // namespace redline::trace
