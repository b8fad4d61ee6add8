#include "viewer/widgets/view_state.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "viewer/models/lane_pixels.h"

namespace redline::viewer {
namespace {

constexpr const char* kReading = "reading …";
constexpr double kHitPixels = 3;
// When the view goes to a slice that is narrower than kSmallestPixels, it zooms until the slice has
// kShownPixels. A slice wider than the view is shown in kLargestShare of the view.
constexpr double kSmallestPixels = 40;
constexpr double kShownPixels = 160;
constexpr double kLargestShare = 0.8;

}  // namespace

ViewState::ViewState(const Theme& theme)
    : theme_(theme),
      session_(std::make_shared<const Session>(std::vector<std::shared_ptr<const trace::Trace>>{})),
      derived_(std::make_shared<const DerivedTracks>()),
      colours_(std::make_shared<const Colours>()),
      collectives_(std::make_shared<const CollectiveLinks>()) {}

void ViewState::set_theme(const Theme& theme) {
  theme_ = theme;
  emit theme_changed();
}

void ViewState::open(std::shared_ptr<const Session> session) {
  search_task_.cancel();
  places_task_.cancel();
  step_when_found_ = 0;
  session_ = std::move(session);
  wanted_ranks_.clear();
  wanted_slice_ = {};
  derived_ = std::make_shared<const DerivedTracks>();
  colours_ = std::make_shared<const Colours>();
  layout_ = Layout(*session_, height_);
  collectives_ = std::make_shared<const CollectiveLinks>();
  selection_ = hover_ = {};
  links_.clear();
  area_ = {};
  const bool had_step = std::exchange(step_, std::nullopt).has_value();
  marks_.clear();
  moment_.reset();
  search_ = {};
  scroll_ = layout_.first_scroll(height_);
  is_first_scroll_ = true;
  wanted_scroll_ = 0;
  axis_ = axis_.showing(first_view(*session_, axis_.width));
  emit session_changed();
  if (had_step) emit step_changed();
  emit colours_changed();
  emit layout_changed();
  emit axis_changed();
  emit scroll_changed();
  emit selection_changed();
  emit area_changed();
  emit search_changed();
}

void ViewState::put(std::shared_ptr<const Session> session) {
  search_task_.cancel();
  places_task_.cancel();
  std::vector<int64_t> by_ns;  // each trace moves
  for (size_t t = 0; t < session_->traces().size(); ++t) {
    by_ns.push_back(
        saturating_sub(session_->traces()[t].origin_ns, session->traces()[t].origin_ns));
  }
  const bool has_moved = std::ranges::any_of(by_ns, [](int64_t by) { return by != 0; });
  const bool has_selection_moved = selection_ && by_ns[selection_.trace] != 0;
  session_ = std::move(session);
  rebuild_layout();
  axis_.begin_ns = saturating_sum(axis_.begin_ns, by_ns[0]);
  for (Mark& mark : marks_) mark.time_ns = saturating_sum(mark.time_ns, by_ns[mark.trace]);
  std::ranges::stable_sort(marks_, {}, &Mark::time_ns);
  if (!area_.empty()) {
    area_.range = {saturating_sum(area_.range.begin_ns, by_ns[area_trace_]),
                   saturating_sum(area_.range.end_ns, by_ns[area_trace_])};
  }
  std::erase_if(wanted_ranks_,
                [this](uint32_t rank) { return session_->traces()[rank].is_loaded; });
  emit ranks_changed();
  emit layout_changed();
  if (has_moved) emit marks_changed();
  if (has_selection_moved) emit selection_changed();
  set_axis(axis_);
  set_scroll(scroll_);
  if (!search_.text().empty()) find(QString::fromStdString(search_.text()));
  if (!wanted_slice_ || !session_->traces()[wanted_slice_.trace].is_loaded) return;
  const SliceRef wanted = std::exchange(wanted_slice_, {});
  // The file may have changed since it was read for the report.
  if (wanted.slice.value < session_->traces()[wanted.trace].trace->slice_count()) go_to(wanted);
}

void ViewState::rebuild_layout() {
  Layout layout(*session_, height_);
  layout.add(*session_, *derived_);
  layout.take_over(layout_);
  layout_ = std::move(layout);
  for (const uint32_t rank : wanted_ranks_) layout_.set_state(rank, kReading);
}

void ViewState::want_ranks(const std::vector<uint32_t>& ranks) {
  std::vector<uint32_t> wanted;
  for (const uint32_t rank : ranks) {
    if (session_->traces()[rank].is_loaded || !wanted_ranks_.insert(rank).second) continue;
    layout_.set_state(rank, kReading);
    wanted.push_back(rank);
  }
  if (wanted.empty()) return;
  emit layout_changed();
  emit ranks_wanted(wanted);
}

void ViewState::want_all_ranks() {
  std::vector<uint32_t> all(session_->traces().size());
  std::iota(all.begin(), all.end(), 0U);
  want_ranks(all);
}

void ViewState::want_ranks_again() {
  if (!wanted_ranks_.empty()) emit ranks_wanted({wanted_ranks_.begin(), wanted_ranks_.end()});
}

void ViewState::give_up(uint32_t rank) {
  wanted_ranks_.erase(rank);
  if (wanted_slice_.trace == rank) wanted_slice_ = {};
  layout_.set_state(rank, "cannot be read");
  emit layout_changed();
}

void ViewState::add(const AnalysedSession& analysed) {
  const bool is_first = derived_->runtimes.empty() && derived_->devices.empty() &&
                        derived_->graphs.empty() && derived_->marks.empty();
  derived_ = analysed.derived;
  colours_ = analysed.colours;
  emit colours_changed();
  collectives_ = analysed.collectives;
  const bool is_at_end = scroll_ == max_scroll();
  const bool is_untouched = is_first_scroll_;
  if (is_first) {
    rearrange([this](Layout& layout) { layout.add(*session_, *derived_); });
  } else {  // of a session of which more ranks are loaded
    rearrange([this](Layout&) { rebuild_layout(); });
  }
  const int wanted = std::exchange(wanted_scroll_, 0);
  if (is_at_end && wanted > scroll_) set_scroll(wanted);
  is_first_scroll_ = is_untouched;
  keep_first_scroll();
  if (!selection_) return;
  links_ = links_of(*session_, *collectives_, selection_);
  emit selection_changed();
}

void ViewState::set_size(int width, int height) {
  height_ = std::max(height, 1);
  TimeAxis axis = axis_;
  axis.width = std::max(width, 1);
  set_axis(axis);
  keep_first_scroll();
  set_scroll(scroll_);
}

// The room of the lanes is divided anew when the report is there and whenever the window is.
void ViewState::keep_first_scroll() {
  if (!is_first_scroll_) return;
  set_scroll(layout_.first_scroll(height_));
  is_first_scroll_ = true;
}

int ViewState::max_scroll() const { return std::max(0, layout_.height() - height_); }

void ViewState::set_scroll(int scroll) {
  scroll = std::clamp(scroll, 0, max_scroll());
  if (scroll == scroll_) return;
  is_first_scroll_ = false;
  scroll_ = scroll;
  emit scroll_changed();
}

void ViewState::set_axis(const TimeAxis& axis) {
  axis_ = axis.kept_near(session_->range());
  emit axis_changed();
}

void ViewState::set_range(TimeRange range) { set_axis(axis_.showing(range)); }

void ViewState::zoom(double factor, double anchor_x) {
  // At more than ten times the whole recording there is nothing to see.
  const double whole = static_cast<double>(session_->range().span_ns());
  if (factor > 1 && static_cast<double>(axis_.span_ns) > std::max(whole, 1000.0) * 10) return;
  set_axis(axis_.zoomed(factor, anchor_x));
}

void ViewState::pan(double pixels) { set_axis(axis_.panned(pixels)); }

void ViewState::fit() {
  const TimeRange all = session_->range();
  const int64_t margin = all.span_ns() / 100;
  set_range({saturating_sub(all.begin_ns, margin), saturating_sum(all.end_ns, margin)});
}

void ViewState::fit_selection() {
  if (!selection_) return fit();
  const TimeRange range = session_->range_of(selection_);
  const int64_t margin = std::max<int64_t>(range.span_ns() / 8, 1);
  const TimeRange wanted{saturating_sub(range.begin_ns, margin),
                         saturating_sum(range.end_ns, margin)};
  // A second F on the same slice shows the whole recording again.
  wanted == axis_.range() ? fit() : set_range(wanted);
}

void ViewState::toggle(RowId row) {
  const TrackGroup& group = layout_.groups()[row.group];
  if (!group.is_loaded) return want_ranks({group.trace});
  rearrange([row](Layout& layout) { layout.toggle(row); });
}

void ViewState::set_colours_by_name(bool by_name) {
  colours_by_name_ = by_name;
  emit colours_changed();
}

void ViewState::select(SliceRef ref) {
  places_task_.cancel();  // a user who has chosen another slice meanwhile stays there
  is_slice_newer_ = static_cast<bool>(ref);
  if (ref == selection_ && !moment_) return;
  moment_.reset();
  selection_ = ref;
  links_ = links_of(*session_, *collectives_, ref);
  emit selection_changed();
}

void ViewState::select_area(QPointF from, QPointF to) {
  is_slice_newer_ = false;
  const auto y = [&](double value) { return std::clamp(static_cast<int>(value), 0, height_ - 1); };
  area_.range = {axis_.time_at(std::min(from.x(), to.x())),
                 axis_.time_at(std::max(from.x(), to.x()))};
  area_.lanes = lanes_between(*session_, layout_, std::min(y(from.y()), y(to.y())),
                              std::max(y(from.y()), y(to.y())) + 1, scroll_);
  area_trace_ = area_.lanes.empty() ? 0 : area_.lanes.front().trace;
  emit area_changed();
}

void ViewState::select_area_of_slice() {
  TimeRange range = selection_ ? session_->range_of(selection_) : axis_.range();
  // Nothing lies in an area without length, nor at the bounds of one.
  if (range.span_ns() == 0) {
    range = {saturating_sub(range.begin_ns, 1), saturating_sum(range.end_ns, 1)};
  }
  select_time(range, selection_ ? selection_.trace : 0);
}

void ViewState::select_time(TimeRange range, uint32_t trace) {
  is_slice_newer_ = false;
  area_.range = range;
  area_.lanes = all_lanes(*session_);
  area_trace_ = trace;
  emit area_changed();
}

bool ViewState::choose_gap_at(double x, int y) {
  const Row* row = row_at(y);
  if (!row || row->is_header()) return false;
  const TrackItem& item = layout_.item_of(*row);
  if (item.kind != TrackItem::Kind::kDevice) return false;
  const auto gap =
      derived_->devices[item.index].gap_at(session_->traces()[row->trace].local(axis_).time_at(x));
  if (!gap) return false;
  const TimeRef time{row->trace, gap->begin_ns, gap->end_ns};
  select({});
  select_time(session_->range_of(time), time.trace);
  emit gap_chosen(time);
  return true;
}

void ViewState::show_flame() {
  if (selection_ && (area_.empty() || is_slice_newer_)) select_area_of_slice();
  emit flame_wanted();
}

void ViewState::drop_area() {
  area_ = {};
  emit area_changed();
}

std::optional<int64_t> ViewState::moment() const {
  if (!moment_) return std::nullopt;
  return session_->range_of(*moment_).begin_ns;
}

void ViewState::choose_step(const std::optional<ChosenStep>& step) {
  if (step == step_) return;
  step_ = step;
  emit step_changed();
}

Area ViewState::in_chosen_step(Area area) const {
  if (!step_) return area;
  const TimeRange range = session_->range_of(step_->time);
  area.range = {std::max(area.range.begin_ns, range.begin_ns),
                std::min(area.range.end_ns, range.end_ns)};
  std::erase_if(area.lanes, [&](const LaneHit& lane) { return lane.trace != step_->time.trace; });
  return area;
}

void ViewState::remove_mark(int64_t time_ns) {
  std::erase_if(marks_, [&](const Mark& mark) { return mark.time_ns == time_ns; });
  emit marks_changed();
}

const Mark* ViewState::mark_at(int64_t time_ns) const {
  const auto found = std::ranges::find(marks_, time_ns, &Mark::time_ns);
  return found == marks_.end() ? nullptr : &*found;
}

void ViewState::set_mark(int64_t time_ns, const std::string& note, uint32_t trace) {
  std::erase_if(marks_, [&](const Mark& mark) { return mark.time_ns == time_ns; });
  const auto after = std::ranges::find_if(
      marks_, [&](int64_t other) { return other > time_ns; }, &Mark::time_ns);
  marks_.insert(after, {time_ns, note, trace});
  emit marks_changed();
}

SavedView ViewState::saved_view() const {
  SavedView view{axis_.range(),         scroll_, search_.text(),
                 layout_.arrangement(), marks_,  colours_by_name_};
  for (const SessionTrace& each : session_->traces()) view.traces.push_back(each.title);
  return view;
}

void ViewState::restore(const SavedView& view) {
  marks_.clear();
  for (const Mark& mark : view.marks) {
    set_mark(mark.time_ns, mark.note, trace_of_mark(view, mark, *session_));
  }
  rearrange([&](Layout& layout) { layout.arrange(view.arrangement); });
  set_colours_by_name(view.colours_by_name);
  if (view.range.span_ns() > 0) set_range(view.range);
  set_scroll(view.scroll);
  is_first_scroll_ = false;
  wanted_scroll_ = view.scroll;
  if (!view.search.empty()) find(QString::fromStdString(view.search));
  emit marks_changed();
}

void ViewState::follow_link(int direction) {
  // Launches come first: a backward pass may begin before the kernels of its forward pass.
  for (const bool is_launch : {true, false}) {
    for (const Link& link : links_) {
      if ((link.kind == LinkKind::kLaunch) != is_launch) continue;
      if (direction < 0 && link.to == selection_) return go_to(link.from);
      // An operator also leads to what the calls inside it launched.
      if (direction > 0 && link.to != selection_) return go_to(link.to);
    }
  }
}

void ViewState::go_to(SliceRef ref) {
  if (!ref) return;
  wanted_slice_ = {};
  if (!session_->traces()[ref.trace].is_loaded) {
    wanted_slice_ = ref;
    return want_ranks({ref.trace});
  }
  layout_.reveal(*session_, ref);
  emit layout_changed();
  if (const auto top = layout_.top_of(*session_, ref)) {
    const int pinned = layout_.pinned_height();
    const bool visible = *top < pinned || (*top >= scroll_ + pinned &&
                                           *top + Layout::kLaneHeight <= scroll_ + height_);
    if (!visible) set_scroll(*top - height_ / 2);
  }
  centre_on(session_->range_of(ref));
  select(ref);
}

void ViewState::go_to_time(TimeRef time) {
  const TimeRange range = session_->range_of(time);
  want_ranks({time.trace});
  centre_on(range);
  select({});
  drop_area();
  if (range.span_ns() > 0) return select_time(range, time.trace);
  moment_ = time;
  emit area_changed();
}

// Zooms if the range would be too small or too large; a moment is shown at any zoom.
void ViewState::centre_on(TimeRange range) {
  const double pixels = axis_.x_of(range.end_ns) - axis_.x_of(range.begin_ns);
  TimeAxis axis = axis_;
  if (range.span_ns() == 0) {
    axis.begin_ns = saturating_sub(range.begin_ns, axis.span_ns / 2);
    return set_axis(axis);
  }
  if (pixels < kSmallestPixels || pixels > axis_.width) {
    axis.span_ns = std::max<int64_t>(range.span_ns(), 1);
    const double share = pixels < kSmallestPixels ? kShownPixels / axis_.width : kLargestShare;
    axis = axis.zoomed(1 / share, 0);
  }
  const int64_t middle = saturating_sum(range.begin_ns, range.span_ns() / 2);
  axis.begin_ns = saturating_sub(middle, axis.span_ns / 2);
  set_axis(axis);
}

void ViewState::go_to_name(const QString& name) {
  find_whole(name);
  places_task_.cancel();
  const std::string wanted = name.toStdString();
  if (session_->event_count() <= searched_at_once_) {
    return show_places(places_of(*session_, wanted));
  }
  places_task_.start(
      [session = session_, wanted](const std::atomic<bool>& cancelled) {
        return places_of(*session, wanted, &cancelled);
      },
      [this](const std::vector<SliceRef>& places) { show_places(places); });
}

void ViewState::show_places(const std::vector<SliceRef>& places) {
  if (places.empty()) return;
  go_to(places.back());
  if (places.size() > 1) show_beside_selection(places.front());
}

// Widens the time and scrolls the rows as far as needed to see both slices.
void ViewState::show_beside_selection(SliceRef ref) {
  layout_.reveal(*session_, ref);
  emit layout_changed();
  const TimeRange shown = axis_.range();
  const TimeRange range = session_->range_of(ref);
  if (range.begin_ns < shown.begin_ns || range.end_ns > shown.end_ns) {
    const TimeRange both{std::min(range.begin_ns, shown.begin_ns),
                         std::max(range.end_ns, shown.end_ns)};
    const int64_t margin = both.span_ns() / 20;
    set_range({saturating_sub(both.begin_ns, margin), saturating_sum(both.end_ns, margin)});
  }
  set_hover(ref);  // shades it until the mouse is over another one
  const auto top = layout_.top_of(*session_, ref);
  const auto selected_top = layout_.top_of(*session_, selection_);
  const int pinned = layout_.pinned_height();
  if (!top || !selected_top || *top < pinned || *selected_top < pinned) return;
  const int first = std::min(*top, *selected_top);
  const int last = std::max(*top, *selected_top) + Layout::kLaneHeight;
  const int room = height_ - pinned;
  const bool is_seen = first >= scroll_ + pinned && last <= scroll_ + height_;
  if (!is_seen && last - first <= room) set_scroll(first - pinned - (room - (last - first)) / 2);
}

void ViewState::set_hover(SliceRef ref) {
  if (ref == hover_) return;
  hover_ = ref;
  emit hover_changed();
}

void ViewState::find(const QString& text) {
  search_task_.cancel();
  step_when_found_ = 0;
  const std::string wanted = text.toStdString();
  const auto part = args_part(wanted);
  const bool is_quick = !part && session_->event_count() <= searched_at_once_;
  search_ = is_quick ? Search(*session_, wanted) : Search::pending(wanted);
  emit search_changed();
  if (!search_.is_pending()) return;
  search_task_.start(
      [session = session_, wanted, part](const std::atomic<bool>& cancelled) {
        return part ? Search(*session, wanted, find_in_args(*session, *part, &cancelled))
                    : Search(*session, wanted, &cancelled);
      },
      [this](const Search& found) { show_found(found); });
}

void ViewState::show_found(const Search& found) {
  search_ = found;
  emit search_changed();
  const int step = std::exchange(step_when_found_, 0);
  if (step > 0) find_next();
  if (step < 0) find_previous();
}

void ViewState::find_next() {
  if (search_.is_pending()) step_when_found_ = 1;
  go_to(search_.next(*session_, selection_));
}

void ViewState::find_previous() {
  if (search_.is_pending()) step_when_found_ = -1;
  go_to(search_.previous(*session_, selection_));
}

int64_t ViewState::hit_tolerance_ns() const {
  return static_cast<int64_t>(kHitPixels * axis_.ns_per_pixel());
}

SliceRef ViewState::slice_at(double x, int y) const {
  const Row* row = row_at(y);
  if (row && !row->is_header() && layout_.item_of(*row).kind == TrackItem::Kind::kRuntime) {
    const TimeAxis axis = session_->traces()[row->trace].local(axis_);
    return derived_->runtimes[layout_.item_of(*row).index].call_at(axis.time_at(x),
                                                                   hit_tolerance_ns());
  }
  const auto hit = layout_.lane_at(*session_, layout_.content_y(y, scroll_));
  if (!hit) return {};
  const SessionTrace& item = session_->traces()[hit->trace];
  const trace::Lane& lane = item.trace->lanes()[hit->lane.value];
  const TimeAxis axis = item.local(axis_);
  const uint32_t found =
      viewer::slice_at(item.lane_columns(lane), axis.time_at(x), hit_tolerance_ns());
  if (found == LanePyramid::kNoSlice) return {};
  return {hit->trace, {lane.first.value + found}};
}

}  // namespace redline::viewer
