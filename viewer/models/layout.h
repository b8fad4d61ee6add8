// Where each process header, track and lane stands: rows from the top, in pixels.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "viewer/models/tracks.h"

namespace redline::viewer {

struct RowId {
  uint32_t group = 0;
  int32_t track = -1;  ///< index in the group; -1 is the group's header

  auto operator<=>(const RowId&) const = default;
};

struct Row {
  RowId id;
  uint32_t trace = 0;
  trace::TrackId track;  ///< none for headers
  int top = 0;
  int height = 0;
  uint32_t lanes = 0;  ///< shown; 0 for headers
  bool folded = false;
  bool can_fold = false;
};

struct LaneHit {
  uint32_t trace = 0;
  trace::LaneId lane;
};

class Layout {
 public:
  static constexpr int kHeaderHeight = 22;
  static constexpr int kLaneHeight = 18;
  static constexpr int kTrackPadding = 4;  ///< under the last lane of a track
  static constexpr int kMinTrackHeight = 22;

  Layout() = default;
  /// Folds what is least worth the room: always the profiler's own spans; with more than one trace
  /// also the side threads, where all lanes would not fit into `height`.
  Layout(const Session& session, int height);

  /// Folded: a header hides its tracks, a track shows its first lane only.
  void toggle(const Session& session, RowId row);
  /// Unfolds what hides the slice's lane.
  void reveal(const Session& session, SliceRef ref);

  [[nodiscard]] const std::vector<TrackGroup>& groups() const { return groups_; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] const Row* row_at(int y) const;
  [[nodiscard]] std::optional<LaneHit> lane_at(const Session& session, int y) const;
  /// The top of the slice's lane; none where it is folded away.
  [[nodiscard]] std::optional<int> top_of(const Session& session, SliceRef ref) const;

 private:
  void place(const Session& session);

  std::vector<TrackGroup> groups_;
  std::set<RowId> folded_;
  std::vector<Row> rows_;
  int height_ = 0;
};

}  // namespace redline::viewer
