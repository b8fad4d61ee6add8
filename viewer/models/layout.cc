#include "viewer/models/layout.h"

#include <algorithm>

namespace redline::viewer {

Layout::Layout(const Session& session, int height) : groups_(track_groups(session)) {
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].background) folded_.insert({g, -1});
  }
  place(session);
  if (session.traces().size() < 2 || height_ <= height) return;
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    for (size_t i = 0; i < groups_[g].tracks.size(); ++i) {
      if (!groups_[g].tracks[i].main) folded_.insert({g, static_cast<int32_t>(i)});
    }
  }
  place(session);
}

void Layout::place(const Session& session) {
  rows_.clear();
  int y = 0;
  const auto add = [&](Row row) {
    row.top = y;
    row.folded = folded_.contains(row.id);
    y += row.height;
    rows_.push_back(row);
  };
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    const TrackGroup& group = groups_[g];
    const RowId header{g, -1};
    add({header, group.trace, {}, 0, kHeaderHeight, 0, false, true});
    if (folded_.contains(header)) continue;
    for (int32_t i = 0; i < static_cast<int32_t>(group.tracks.size()); ++i) {
      const trace::TrackId id = group.tracks[static_cast<size_t>(i)].track;
      const auto tracks = session.traces()[group.trace].trace->tracks();
      const uint32_t all = tracks[id.value].lane_count;
      const RowId row{g, i};
      const uint32_t lanes = folded_.contains(row) ? 1 : all;
      const int height = static_cast<int>(lanes) * kLaneHeight + kTrackPadding;
      add({row, group.trace, id, 0, std::max(height, kMinTrackHeight), lanes, false, all > 1});
    }
  }
  height_ = y;
}

void Layout::toggle(const Session& session, RowId row) {
  if (!folded_.insert(row).second) folded_.erase(row);
  place(session);
}

void Layout::reveal(const Session& session, SliceRef ref) {
  const trace::Lane& lane = session.lane_of(ref);
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].trace != ref.trace) continue;
    for (int32_t i = 0; i < static_cast<int32_t>(groups_[g].tracks.size()); ++i) {
      if (groups_[g].tracks[static_cast<size_t>(i)].track != lane.track) continue;
      folded_.erase({g, -1});
      if (lane.depth > 0) folded_.erase({g, i});
    }
  }
  place(session);
}

const Row* Layout::row_at(int y) const {
  const auto after = std::upper_bound(rows_.begin(), rows_.end(), y,
                                      [](int value, const Row& row) { return value < row.top; });
  if (after == rows_.begin()) return nullptr;
  const Row& row = *std::prev(after);
  return y < row.top + row.height ? &row : nullptr;
}

std::optional<LaneHit> Layout::lane_at(const Session& session, int y) const {
  const Row* row = row_at(y);
  if (!row || !row->track) return std::nullopt;
  const uint32_t depth = static_cast<uint32_t>((y - row->top) / kLaneHeight);
  if (depth >= row->lanes) return std::nullopt;
  const trace::Track& track = session.traces()[row->trace].trace->tracks()[row->track.value];
  return LaneHit{row->trace, {track.first_lane.value + depth}};
}

std::optional<int> Layout::top_of(const Session& session, SliceRef ref) const {
  const trace::Lane& lane = session.lane_of(ref);
  for (const Row& row : rows_) {
    if (row.trace != ref.trace || row.track != lane.track || !row.track) continue;
    if (lane.depth >= row.lanes) return std::nullopt;
    return row.top + static_cast<int>(lane.depth) * kLaneHeight;
  }
  return std::nullopt;
}

}  // namespace redline::viewer
