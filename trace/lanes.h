// Sorting a track's slices into lanes.
#pragma once

#include <span>
#include <vector>

#include "trace/event_rows.h"
#include "trace/issues.h"

namespace redline::trace {

/// Turns "B"/"E" pairs into slices of their track. An "E" closes the innermost open "B" of its name
/// (or the innermost one, if either has no name); a "B" that stays open ends with its track.
void pair_edges(TrackRows& rows, IssueLog& issues);

struct PlacedTracks {
  Slices slices;
  std::vector<Track> tracks;
  std::vector<Lane> lanes;
  std::vector<TrackId> track_of_rows;  ///< by index of the gathered tracks; none if without slices
};

/// Orders tracks (processes, then threads, by their sort index), and gives each slice the first
/// lane below all slices that are still open when it begins. Frees the rows as it goes.
[[nodiscard]] PlacedTracks place_tracks(std::vector<TrackRows>& gathered);

}  // namespace redline::trace
