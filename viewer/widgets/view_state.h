// What the window shows: one session, the visible times, the scroll, the selection. All input goes
// to this object; the widgets read it and repaint on its signals. No widget keeps a copy, so the
// lanes, the ruler, the tracks and the tables cannot disagree.
#pragma once

#include <QObject>
#include <QPointF>
#include <memory>
#include <set>

#include "viewer/models/analyse.h"
#include "viewer/models/area.h"
#include "viewer/models/colours.h"
#include "viewer/models/details.h"
#include "viewer/models/latest_task.h"
#include "viewer/models/layout.h"
#include "viewer/models/search.h"
#include "viewer/models/session.h"
#include "viewer/models/view_file.h"
#include "viewer/widgets/theme.h"

namespace redline::viewer {

/// The step that the user chose in the table of steps; tables and panes then show it alone.
struct ChosenStep {
  TimeRef time;
  std::string name;  ///< "rank 0 · step 5"
  bool operator==(const ChosenStep&) const = default;
};

class ViewState : public QObject {
  Q_OBJECT

 public:
  explicit ViewState(const Theme& theme);

  /// The reference stays valid when another theme is chosen: widgets may keep it.
  [[nodiscard]] const Theme& theme() const { return theme_; }
  [[nodiscard]] const Session& session() const { return *session_; }
  [[nodiscard]] const std::shared_ptr<const Session>& shared_session() const { return session_; }
  [[nodiscard]] const DerivedTracks& derived() const { return *derived_; }
  [[nodiscard]] const Colours& colours() const { return *colours_; }
  /// Null if slices are coloured by class.
  [[nodiscard]] const Colours* name_colours() const {
    return colours_by_name_ ? colours_.get() : nullptr;
  }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const TimeAxis& axis() const { return axis_; }
  [[nodiscard]] SliceRef selection() const { return selection_; }
  /// The links of the selected slice.
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }  ///< by time
  [[nodiscard]] const Area& area() const { return area_; }
  /// The moment that go_to_time() went to, on the session's axis.
  [[nodiscard]] std::optional<int64_t> moment() const;
  [[nodiscard]] const std::optional<ChosenStep>& chosen_step() const { return step_; }
  /// What of the area lies in the chosen step of its rank; all of it if no step is chosen.
  [[nodiscard]] Area in_chosen_step(Area area) const;
  [[nodiscard]] SliceRef hover() const { return hover_; }
  [[nodiscard]] const Search& search() const { return search_; }
  [[nodiscard]] int scroll() const { return scroll_; }  ///< pixels of the layout above the view

  void set_theme(const Theme& theme);
  void open(std::shared_ptr<const Session> session);
  /// Shows the same session with more ranks loaded, more known of them, or their times moved. What
  /// the user sees of the first one stays where it is; a slice of one of these ranks that go_to()
  /// waits for is gone to.
  void put(std::shared_ptr<const Session> session);
  /// Emits ranks_wanted() for those that are not loaded and not wanted yet.
  void want_ranks(const std::vector<uint32_t>& ranks);
  void want_all_ranks();
  /// Those that are wanted: whoever read them has given up.
  void want_ranks_again();
  /// The rank cannot be read.
  void give_up(uint32_t rank);
  /// Adds tracks and links that the report has found.
  void add(const AnalysedSession& analysed);
  void set_size(int width, int height);  ///< of the lanes
  void set_scroll(int scroll);
  void set_range(TimeRange range);
  void zoom(double factor, double anchor_x);
  void pan(double pixels);
  void fit();            ///< everything
  void fit_selection();  ///< the selected slice with some room, else everything
  /// The only way to change the layout: calls change(layout) and tells all who show it.
  template <typename Change>
  void rearrange(const Change& change) {
    change(layout_);
    is_first_scroll_ = false;
    set_scroll(scroll_);
    emit layout_changed();
  }
  /// A rank that is not loaded is wanted instead.
  void toggle(RowId row);
  void set_colours_by_name(bool by_name);

  void select(SliceRef ref);
  /// Selects the slice and moves the view there; zooms if the slice would be too small or too
  /// large.
  void go_to(SliceRef ref);
  /// Moves the view to a time at which there is no slice to select. A span gets a bracket in all
  /// lanes, a moment a line, until something else is selected.
  void go_to_time(TimeRef time);
  /// Searches for the name and goes to its longest slice (of two runs: shows it in both). In a
  /// large trace the slice is known, and gone to, a moment later.
  void go_to_name(const QString& name);
  void set_hover(SliceRef ref);
  /// Selects the area between two corners, in pixels of the view.
  void select_area(QPointF from, QPointF to);
  /// Selects the time of the selected slice (or of the whole view if there is none) in all lanes.
  void select_area_of_slice();
  /// Wants the flame graph of the area or of the selected slice's time: of what was selected last.
  void show_flame();
  void drop_area();
  void choose_step(const std::optional<ChosenStep>& step);  ///< nullopt: all steps again
  /// Selects some time in all lanes. It goes along with the trace's clock.
  void select_time(TimeRange range, uint32_t trace = 0);
  /// Selects the idle time of a GPU under a point of its lane. False if there is none.
  bool choose_gap_at(double x, int y);
  /// Sets a mark, which goes along with the trace's clock; it replaces one at exactly that time.
  void set_mark(int64_t time_ns, const std::string& note, uint32_t trace = 0);
  void remove_mark(int64_t time_ns);
  /// Null if there is none at exactly that time.
  [[nodiscard]] const Mark* mark_at(int64_t time_ns) const;
  [[nodiscard]] SavedView saved_view() const;
  void restore(const SavedView& view);
  /// Goes to the slice that launched the selected one (-1) or that it launched (1); without a
  /// launch along another link.
  void follow_link(int direction);

  /// In a large trace, and for arguments ("args:text"), the hits are known only later; then
  /// search_changed() is emitted twice. A step to the next or previous hit that was asked for
  /// meanwhile is made as soon as they are known.
  void find(const QString& text);
  void find_whole(const QString& name) { find('"' + name + '"'); }  ///< and no longer names
  /// Traces of at most this many events are searched at once, because that takes less than a frame.
  void set_searched_at_once(uint64_t events) { searched_at_once_ = events; }
  void wait() {
    search_task_.wait();
    places_task_.wait();
  }
  void find_next();
  void find_previous();

  /// The row under a point of the lanes; null if there is none.
  [[nodiscard]] const Row* row_at(int y) const {
    return layout_.row_at(layout_.content_y(y, scroll_));
  }
  /// The slice under a point of the lanes, or the nearest within three pixels.
  [[nodiscard]] SliceRef slice_at(double x, int y) const;
  /// How far from the mouse something counts as under it.
  [[nodiscard]] int64_t hit_tolerance_ns() const;

 signals:
  void theme_changed();
  void ranks_wanted(std::vector<uint32_t> ranks);
  void ranks_changed();  ///< by put()
  void session_changed();
  void axis_changed();
  void layout_changed();
  void colours_changed();
  void scroll_changed();
  void selection_changed();
  void hover_changed();
  void area_changed();
  void marks_changed();
  void step_changed();
  void search_changed();
  /// Somebody wants to see the idle times of a GPU; empty: of all.
  void gaps_wanted(QString gpu);
  void flame_wanted();
  void gap_chosen(redline::viewer::TimeRef gap);

 private:
  void set_axis(const TimeAxis& axis);
  void keep_first_scroll();
  void rebuild_layout();
  void centre_on(TimeRange range);
  void show_found(const Search& found);
  void show_places(const std::vector<SliceRef>& places);
  void show_beside_selection(SliceRef ref);
  [[nodiscard]] int max_scroll() const;

  Theme theme_;
  std::shared_ptr<const Session> session_;
  std::shared_ptr<const DerivedTracks> derived_;
  std::shared_ptr<const Colours> colours_;
  bool colours_by_name_ = false;
  Layout layout_;
  TimeAxis axis_;
  int height_ = 1;
  int scroll_ = 0;
  bool is_first_scroll_ = false;  ///< nothing but a new trace has scrolled the rows
  /// Scroll of a restored view; it may lie beyond the end until add() is called.
  int wanted_scroll_ = 0;
  std::set<uint32_t> wanted_ranks_;
  SliceRef wanted_slice_;  ///< of one of them
  SliceRef selection_;
  std::vector<Link> links_;
  std::shared_ptr<const CollectiveLinks> collectives_;
  Area area_;
  uint32_t area_trace_ = 0;      ///< whose clock its time goes along with
  bool is_slice_newer_ = false;  ///< the slice was selected after the area
  std::optional<ChosenStep> step_;
  std::vector<Mark> marks_;
  std::optional<TimeRef> moment_;
  SliceRef hover_;
  Search search_;
  uint64_t searched_at_once_ = 2'000'000;
  int step_when_found_ = 0;  ///< 1: to the next hit, -1: to the previous one
  /// The tasks are last, so that they end before the rest is destroyed.
  LatestTask search_task_{this};
  LatestTask places_task_{this};
};

}  // namespace redline::viewer
