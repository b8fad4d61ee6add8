#include "viewer/widgets/timeline.h"

#include <QGridLayout>
#include <QKeyEvent>
#include <QVBoxLayout>
#include <algorithm>
#include <set>

#include "viewer/models/format.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/legend.h"
#include "viewer/widgets/popups.h"

namespace redline::viewer {
namespace {

constexpr double kKeyZoom = 1.3;
constexpr double kKeyPan = 0.1;  // of the width

}  // namespace

Timeline::Timeline(ViewState& state)
    : state_(state),
      summary_(new QLabel),
      filter_(new Field),
      lanes_(new LanesView(state)),
      scroll_bar_(new QScrollBar(Qt::Vertical)) {
  auto* title = new QLabel(tr("Overview"));
  title->setFont(ui_font(12, QFont::DemiBold));
  summary_->setProperty("muted", true);
  summary_->setFont(ui_font(11));
  auto* corner = new QWidget;
  corner->setFixedWidth(TrackColumn::kWidth);
  auto* corner_layout = new QVBoxLayout(corner);
  corner_layout->setContentsMargins(16, 8, 8, 8);
  corner_layout->setSpacing(2);
  corner_layout->addWidget(title);
  corner_layout->addWidget(summary_);

  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setSpacing(0);
  grid->addWidget(corner, 0, 0);
  grid->addWidget(new OverviewStrip(state), 0, 1);
  grid->addWidget(make_filter(), 1, 0);
  grid->addWidget(new RulerView(state), 1, 1);
  grid->addWidget(new TrackColumn(state), 2, 0);
  grid->addWidget(lanes_, 2, 1);
  grid->addWidget(scroll_bar_, 2, 2);
  grid->addWidget(new Legend(state), 3, 0, 1, 3);
  grid->setRowStretch(2, 1);
  grid->setColumnStretch(1, 1);

  connect(scroll_bar_, &QScrollBar::valueChanged, &state, &ViewState::set_scroll);
  connect(&state, &ViewState::layout_changed, this, &Timeline::update_scroll_bar);
  connect(&state, &ViewState::scroll_changed, this, &Timeline::update_scroll_bar);
  connect(&state, &ViewState::axis_changed, this, &Timeline::update_scroll_bar);
  connect(&state, &ViewState::session_changed, this, &Timeline::update_summary);
  connect(&state, &ViewState::ranks_changed, this, &Timeline::update_summary);
}

QLineEdit* Timeline::make_filter() {
  filter_->setProperty("quiet", true);
  filter_->setPlaceholderText(tr("Filter tracks"));
  filter_->setAccessibleName(tr("Filter tracks"));
  filter_->setClearButtonEnabled(true);
  filter_->setFixedHeight(RulerView::kHeight);
  filter_->setFont(ui_font(11));
  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    if (text.toStdString() == state_.layout().filter()) return;
    state_.rearrange([&](Layout& layout) { layout.set_filter(text.toStdString()); });
  });
  connect(filter_, &QLineEdit::returnPressed, lanes_, qOverload<>(&QWidget::setFocus));
  // Going to a slice that the filter hides drops the filter. setText() with the same text would
  // move the cursor to its end and forget what can be undone.
  connect(&state_, &ViewState::layout_changed, this, [this] {
    const QString filter = text(state_.layout().filter());
    if (filter_->text() != filter) filter_->setText(filter);
  });
  return filter_;
}

// A mark at the begin of the selected slice with its name or, without a selection, in the middle of
// the view.
Mark Timeline::mark_here() const {
  const SliceRef ref = state_.selection();
  if (!ref) return {state_.axis().time_at(state_.axis().width / 2.0), ""};
  return {state_.session().range_of(ref).begin_ns,
          printable(state_.session().name_of(ref).substr(0, 200)), ref.trace};
}

void Timeline::toggle_mark() {
  const Mark here = mark_here();
  state_.mark_at(here.time_ns) ? state_.remove_mark(here.time_ns)
                               : state_.set_mark(here.time_ns, here.note, here.trace);
}

void Timeline::write_note() {
  const Mark here = mark_here();
  const Mark* there = state_.mark_at(here.time_ns);
  ask_for_note(state_, there ? *there : here, this);
}

void Timeline::toggle_pin() {
  if (!state_.selection()) return;
  const Row* row = state_.layout().row_of(state_.session(), state_.selection());
  if (!row) return;
  state_.rearrange(
      [id = row->id, pin = !row->pinned](Layout& layout) { layout.set_pinned(id, pin); });
}

void Timeline::update_scroll_bar() {
  const QSignalBlocker blocker(scroll_bar_);
  const int hidden = std::max(0, state_.layout().height() - lanes_->height());
  scroll_bar_->setRange(0, hidden);
  scroll_bar_->setPageStep(lanes_->height());
  scroll_bar_->setSingleStep(Layout::kLaneHeight);
  scroll_bar_->setValue(state_.scroll());
  scroll_bar_->setEnabled(hidden > 0);
}

namespace {

// Not several windows of one rank, nor traces that name no rank. Those that are not loaded are
// ranks.
bool are_ranks(const Session& session) {
  std::set<int> ranks;
  return std::ranges::all_of(session.traces(), [&ranks](const SessionTrace& each) {
    if (!each.is_loaded) return true;
    const auto rank = each.trace->metadata().rank;
    return rank && ranks.insert(*rank).second;
  });
}

}  // namespace

void Timeline::update_summary() {
  const Session& session = state_.session();
  QStringList parts;
  if (session.before_count() > 0) {
    parts << tr("2 runs");
  } else if (session.traces().size() > 1) {
    parts << (are_ranks(session) ? tr("%1 ranks") : tr("%1 traces")).arg(session.traces().size());
  }
  if (!session.steps().empty()) {
    parts << text(format_plural(session.steps().size(), "step"));
  }
  parts << text(format_duration(session.range().span_ns()));
  summary_->setText(session.traces().empty() ? QString() : parts.join(QStringLiteral(" · ")));
}

// The slice nearest to the middle in the topmost lane that has a slice in view.
SliceRef Timeline::first_in_view() const {
  for (int y = 0; y < lanes_->height(); y += Layout::kLaneHeight / 2) {
    if (const SliceRef ref = state_.slice_at(state_.axis().width / 2.0, y)) return ref;
  }
  return {};
}

void Timeline::step_slice(int direction) {
  const SliceRef ref = state_.selection();
  if (!ref) return state_.select(first_in_view());
  const trace::Lane& lane = state_.session().lane_of(ref);
  const int64_t next = int64_t{ref.slice.value} + direction;
  if (next < lane.first.value || next >= int64_t{lane.first.value} + lane.count) return;
  state_.go_to({ref.trace, {static_cast<uint32_t>(next)}});
}

namespace {

// The slice of a lane at a time or, if there is none, the nearest.
SliceRef nearest_in(const Session& session, const LaneHit& hit, int64_t time_ns) {
  const trace::Trace& trace = *session.traces()[hit.trace].trace;
  const trace::Lane& lane = trace.lanes()[hit.lane.value];
  if (lane.count == 0) return {};
  const auto ref = [&](uint32_t i) { return SliceRef{hit.trace, {lane.first.value + i}}; };
  uint32_t first = 0, end = lane.count;  // the first that ends after the time
  while (first < end) {
    const uint32_t middle = first + (end - first) / 2;
    session.range_of(ref(middle)).end_ns <= time_ns ? first = middle + 1 : end = middle;
  }
  if (first == lane.count) return ref(first - 1);
  const int64_t after = saturating_sub(session.range_of(ref(first)).begin_ns, time_ns);
  if (first == 0 || after <= 0) return ref(first);
  const int64_t before = saturating_sub(time_ns, session.range_of(ref(first - 1)).end_ns);
  return ref(before < after ? first - 1 : first);
}

}  // namespace

void Timeline::step_lane(int direction) {
  const SliceRef from = state_.selection();
  const Layout& layout = state_.layout();
  const auto top = from ? layout.top_of(state_.session(), from) : std::nullopt;
  if (!top) return state_.set_scroll(state_.scroll() + direction * Layout::kLaneHeight);
  const TimeRange range = state_.session().range_of(from);
  const int64_t middle = range.begin_ns + range.span_ns() / 2;
  const uint32_t lane =
      state_.session().traces()[from.trace].trace->slices().lane[from.slice.value].value;
  for (int y = *top + Layout::kLaneHeight / 2; y >= 0 && y < layout.height();
       y += direction * Layout::kLaneHeight / 2) {
    const auto hit = layout.lane_at(state_.session(), y);
    if (!hit || (hit->trace == from.trace && hit->lane.value == lane)) continue;
    if (const SliceRef to = nearest_in(state_.session(), *hit, middle)) return state_.go_to(to);
  }
}

struct Timeline::Binding {
  Qt::Key key;
  const char* meaning;  ///< null: the key before means the same
  void (*act)(Timeline& timeline, ViewState& state);
};

std::span<const Timeline::Binding> Timeline::bindings() {
  using T = Timeline;
  using S = ViewState;
  static constexpr Binding kBindings[] = {
      {Qt::Key_W, QT_TR_NOOP("Zoom in"),
       [](T& t, S& s) { s.zoom(1 / kKeyZoom, t.lanes_->zoom_anchor()); }},
      {Qt::Key_S, QT_TR_NOOP("Zoom out"),
       [](T& t, S& s) { s.zoom(kKeyZoom, t.lanes_->zoom_anchor()); }},
      {Qt::Key_A, QT_TR_NOOP("Move left"), [](T&, S& s) { s.pan(-s.axis().width * kKeyPan); }},
      {Qt::Key_Left, nullptr, [](T&, S& s) { s.pan(-s.axis().width * kKeyPan); }},
      {Qt::Key_D, QT_TR_NOOP("Move right"), [](T&, S& s) { s.pan(s.axis().width * kKeyPan); }},
      {Qt::Key_Right, nullptr, [](T&, S& s) { s.pan(s.axis().width * kKeyPan); }},
      {Qt::Key_Up, QT_TR_NOOP("To the lane above"), [](T& t, S&) { t.step_lane(-1); }},
      {Qt::Key_Down, QT_TR_NOOP("To the lane below"), [](T& t, S&) { t.step_lane(1); }},
      {Qt::Key_PageUp, QT_TR_NOOP("Scroll a page up"),
       [](T& t, S& s) { s.set_scroll(s.scroll() - t.lanes_->height()); }},
      {Qt::Key_PageDown, QT_TR_NOOP("Scroll a page down"),
       [](T& t, S& s) { s.set_scroll(s.scroll() + t.lanes_->height()); }},
      {Qt::Key_F, QT_TR_NOOP("Zoom to the selected slice"), [](T&, S& s) { s.fit_selection(); }},
      {Qt::Key_P, QT_TR_NOOP("Pin the selected slice's track, or let it go"),
       [](T& t, S&) { t.toggle_pin(); }},
      {Qt::Key_Home, QT_TR_NOOP("Show everything"), [](T&, S& s) { s.fit(); }},
      {Qt::Key_L, QT_TR_NOOP("Colour slices by class or by name"),
       [](T&, S& s) { s.set_colours_by_name(!s.name_colours()); }},
      {Qt::Key_M, QT_TR_NOOP("Mark the selected slice, or unmark it"),
       [](T& t, S&) { t.toggle_mark(); }},
      {Qt::Key_N, QT_TR_NOOP("Write a note on a mark"), [](T& t, S&) { t.write_note(); }},
      {Qt::Key_R, QT_TR_NOOP("Sum up the time of the selected slice, in all lanes"),
       [](T&, S& s) { s.select_area_of_slice(); }},
      {Qt::Key_G, QT_TR_NOOP("Flame graph of what is selected"), [](T&, S& s) { s.show_flame(); }},
      {Qt::Key_BracketLeft, QT_TR_NOOP("To what launched the selected slice"),
       [](T&, S& s) { s.follow_link(-1); }},
      {Qt::Key_BracketRight, QT_TR_NOOP("To what the selected slice launched"),
       [](T&, S& s) { s.follow_link(1); }},
      {Qt::Key_Period, QT_TR_NOOP("To the next slice of the lane"),
       [](T& t, S&) { t.step_slice(1); }},
      {Qt::Key_Comma, QT_TR_NOOP("To the previous slice of the lane"),
       [](T& t, S&) { t.step_slice(-1); }},
      {Qt::Key_Escape, QT_TR_NOOP("Drop the selection, then the search"),
       [](T& t, S&) { t.drop_selection(); }},
  };
  return kBindings;
}

std::vector<Command> Timeline::commands() {
  std::vector<Command> commands;
  for (const Binding& binding : bindings()) {
    const QString key = QKeySequence(binding.key).toString(QKeySequence::NativeText);
    if (!binding.meaning) {
      commands.back().keys += ", " + key;
      continue;
    }
    commands.push_back(
        {tr(binding.meaning), key, [this, &binding] { binding.act(*this, state_); }});
  }
  return commands;
}

bool Timeline::handle_key(const QKeyEvent& event) {
  const int key = event.key();
  const bool is_letter = key >= Qt::Key_A && key <= Qt::Key_Z;
  const auto others = Qt::ControlModifier | Qt::AltModifier;
  if (event.modifiers() & (is_letter ? others | Qt::ShiftModifier : others)) return false;
  if (key == Qt::Key_Escape) return drop_selection();
  const auto all = bindings();
  const auto binding = std::ranges::find(all, key, &Binding::key);
  if (binding == all.end()) return false;
  binding->act(*this, state_);
  return true;
}

// The search lasts longest, because Enter goes on to its next hit.
bool Timeline::drop_selection() {
  if (!state_.selection() && state_.area().empty() && !state_.moment()) {
    if (state_.search().text().empty()) return false;
    state_.find({});
    return true;
  }
  state_.select({});
  state_.drop_area();
  return true;
}

void Timeline::keyPressEvent(QKeyEvent* event) {
  if (!handle_key(*event)) QWidget::keyPressEvent(event);
}

}  // namespace redline::viewer
