// Where each process header, track and lane stands: rows from the top, in pixels. Pinned tracks
// come first and do not scroll.
//
// The left column, the lanes, the mouse and the arrows all ask this one class, so they agree on
// every pixel. All rows are placed anew after each change: a trace has some hundred of them, and a
// list that is never patched cannot go wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viewer/models/derived_tracks.h"
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
  int top = 0;
  int height = 0;
  uint32_t lanes = 0;  ///< shown; 0 for headers
  bool folded = false;
  bool can_fold = false;
  bool pinned = false;

  [[nodiscard]] bool is_header() const { return id.track < 0; }
  /// The top in a view that is scrolled by `scroll`.
  [[nodiscard]] int view_top(int scroll) const { return pinned ? top : top - scroll; }
};

struct LaneHit {
  uint32_t trace = 0;
  trace::LaneId lane;
};

class Layout {
 public:
  static constexpr int kHeaderHeight = 22;
  static constexpr int kFoldedTop = 15;  ///< in a folded GPU's header: of what the GPU did
  static constexpr int kLaneHeight = 18;
  static constexpr int kTrackPadding = 4;  ///< under the last lane of a track
  static constexpr int kMinTrackHeight = 22;
  static constexpr int kDeviceHeight = 16;  ///< also of the calls into the runtime
  static constexpr int kGraphHeight = 44;

  Layout() = default;
  /// Always folds the tracks that hold only the profiler's own spans. It also folds the side
  /// threads, if otherwise not all lanes of several traces, or not the GPUs of one, fit into
  /// `height`.
  Layout(const Session& session, int height);
  /// Adds the tracks that follow from the report, which is ready later than the trace.
  void add(const Session& session, const DerivedTracks& derived);

  /// Takes the arrangement of `before`, a layout of the same traces when fewer were loaded. Tracks
  /// that `before` did not have are folded as in a new window.
  void take_over(const Layout& before);
  /// Says in the header of a trace that is not loaded what is done about it.
  void set_state(uint32_t trace, const std::string& words);

  /// Folded: a header hides its tracks, a track shows its first lane only.
  void toggle(RowId row);
  void fold_all(bool folded);
  /// Makes the slice's lane visible: unfolds and shows its track, and drops a filter that hides it.
  void reveal(const Session& session, SliceRef ref);
  void set_pinned(RowId row, bool pinned);
  void hide(RowId row);
  void hide_others(RowId row);
  void show_all();
  /// Swaps the row with the one `by` places away among those that are shown and not pinned: a track
  /// within its group, or a whole group. At the ends nothing moves.
  void move(RowId row, int by);
  /// Shows only the tracks whose title or note, or whose group's, contains the text.
  void set_filter(const std::string& text);

  [[nodiscard]] const Arrangement& arrangement() const { return arrangement_; }
  void arrange(Arrangement arrangement);

  [[nodiscard]] const std::vector<TrackGroup>& groups() const { return groups_; }
  [[nodiscard]] const TrackGroup& group_of(const Row& row) const { return groups_[row.id.group]; }
  [[nodiscard]] const TrackItem& item_of(const Row& row) const {
    return group_of(row).tracks[static_cast<size_t>(row.id.track)];
  }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const std::string& filter() const { return filter_; }
  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] int pinned_height() const { return pinned_height_; }
  /// From a height in a view that is scrolled by `scroll` to a height in the layout.
  [[nodiscard]] int content_y(int y, int scroll) const {
    return y < pinned_height_ ? y : y + scroll;
  }
  /// Where a view of this height begins: at the top or, if a deep stack would push the first GPU
  /// out of it, so far down that both are in sight.
  [[nodiscard]] int first_scroll(int view_height) const;
  [[nodiscard]] const Row* row_at(int y) const;
  [[nodiscard]] std::optional<LaneHit> lane_at(const Session& session, int y) const;
  /// The row of the slice's track; null if it is hidden.
  [[nodiscard]] const Row* row_of(const Session& session, SliceRef ref) const;
  /// The top of the slice's lane; nullopt if it is folded away.
  [[nodiscard]] std::optional<int> top_of(const Session& session, SliceRef ref) const;

 private:
  /// Of all headers and tracks, whatever is shown of them.
  [[nodiscard]] std::vector<RowId> all_ids() const;
  [[nodiscard]] std::string key_of(RowId row) const;
  [[nodiscard]] bool passes_filter(const TrackGroup& group, const TrackItem& item) const;
  void sort_groups();
  void remember_order();
  [[nodiscard]] int gpu_rows_end() const;
  void place();
  void place_pinned();
  void place_group(uint32_t group);
  void add_row(RowId id, bool pinned);

  std::vector<TrackGroup> groups_;
  Arrangement arrangement_;
  bool is_arranged_ = false;  ///< arrange() was called, so arrangement_ says what is folded
  std::string filter_;
  std::vector<Row> rows_;
  int height_ = 0;
  int pinned_height_ = 0;
};

}  // namespace redline::viewer
