// Sorting tracks' slices into lanes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trace/columns.h"
#include "trace/event_rows.h"

namespace redline::trace {

/// A track and its slices in the order of the file.
struct TrackRows {
  Track track;  ///< ids and names; lanes come later
  int64_t process_sort_index = 0;
  uint64_t process_first_offset = 0;  ///< where the file names the process first
  uint64_t first_offset = 0;
  std::span<SliceRow> slices;  ///< is sorted in place; SliceRow::track is overwritten
};

struct PlacedTracks {
  std::shared_ptr<const ColumnMemory> memory;
  Slices slices;
  std::vector<Track> tracks;
  std::vector<Lane> lanes;
  std::vector<TrackId> track_of_rows;  ///< by index of the gathered tracks; none if without slices
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

/// Orders tracks (processes, then threads, by their sort index), and gives each slice the first
/// lane below all slices that are still open when it begins.
[[nodiscard]] PlacedTracks place_tracks(std::span<TrackRows> gathered, unsigned threads);

}  // namespace redline::trace
