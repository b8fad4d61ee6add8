// Sorting tracks' slices into lanes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trace/model/columns.h"
#include "trace/read/row_order.h"

namespace redline::trace {

/// The tracks of a trace and their slices. A damaged or odd trace may have a million tracks, so
/// what is not needed to the end lies apart.
struct GatheredTracks {
  /// What decides, beside the sort index of the track, where it stands.
  struct Order {
    int64_t process_sort_index = 0;
    uint64_t process_first_offset = 0;  ///< where the file names the process first
    uint64_t first_offset = 0;
  };
  std::vector<Track> tracks;        ///< ids and names; lanes and kind come later
  std::vector<Order> orders;        ///< by track
  std::vector<RowRun> runs;         ///< track by track, each track's in the order of the file
  std::vector<uint32_t> first_run;  ///< by track, and one more: the number of runs

  [[nodiscard]] std::span<const RowRun> runs_of(uint32_t track) const {
    return std::span(runs).subspan(first_run[track], first_run[track + 1] - first_run[track]);
  }
};

struct PlacedTracks {
  std::shared_ptr<const ColumnMemory> memory;
  Slices slices;
  std::vector<Track> tracks;
  std::vector<uint32_t> categories;  ///< for each track, bit_of() of every category that occurs
  std::vector<Lane> lanes;
  /// By index of the gathered tracks; none() for those without slices.
  std::vector<TrackId> track_of_rows;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

[[nodiscard]] constexpr uint32_t bit_of(Category category) {
  return 1U << static_cast<uint8_t>(category);
}

/// Orders the tracks (by process, then by thread, each by sort index), and gives each slice the
/// first lane below all slices that are still open when it begins; an annotation that outlives them
/// gets the first free lane below those that hold all of it. `base_ns` is added to all times.
/// The memory of the rows is freed while that of the columns is filled.
[[nodiscard]] PlacedTracks place_tracks(GatheredTracks gathered, int64_t base_ns, unsigned threads);

}  // namespace redline::trace
