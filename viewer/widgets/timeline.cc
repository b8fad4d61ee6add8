#include "viewer/widgets/timeline.h"

#include <QGridLayout>
#include <QKeyEvent>
#include <QVBoxLayout>
#include <algorithm>
#include <iterator>

#include "viewer/models/format.h"
#include "viewer/widgets/legend.h"
#include "viewer/widgets/popups.h"

namespace redline::viewer {
namespace {

constexpr double kKeyZoom = 1.3;
constexpr double kKeyPan = 0.1;  // of the width

}  // namespace

Timeline::Timeline(ViewState& state, QWidget* parent)
    : QWidget(parent),
      state_(state),
      summary_(new QLabel),
      filter_(new QLineEdit),
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
  // Going to a slice that the filter hides drops the filter.
  connect(&state_, &ViewState::layout_changed, this,
          [this] { filter_->setText(QString::fromStdString(state_.layout().filter())); });
  return filter_;
}

// A mark at the begin of the selected slice with its name or, without a selection, in the middle of
// the view.
Mark Timeline::mark_here() const {
  const SliceRef ref = state_.selection();
  if (!ref) return {state_.axis().time_at(state_.axis().width / 2.0), ""};
  return {state_.session().range_of(ref).begin_ns,
          printable(state_.session().name_of(ref).substr(0, 200))};
}

void Timeline::toggle_mark() {
  const Mark here = mark_here();
  state_.mark_at(here.time_ns) ? state_.remove_mark(here.time_ns)
                               : state_.set_mark(here.time_ns, here.note);
}

void Timeline::write_note() {
  const Mark here = mark_here();
  const Mark* there = state_.mark_at(here.time_ns);
  ask_for_note(state_, here.time_ns, there ? there->note : here.note, this);
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

void Timeline::update_summary() {
  const Session& session = state_.session();
  QStringList parts;
  if (session.before_count() > 0) {
    parts << tr("2 runs");
  } else if (session.traces().size() > 1) {
    parts << tr("%1 ranks").arg(session.traces().size());
  }
  if (!session.steps().empty()) {
    parts << QString::fromStdString(format_plural(session.steps().size(), "step"));
  }
  parts << QString::fromStdString(format_duration(session.range().span_ns()));
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

bool Timeline::handle_key(const QKeyEvent& event) {
  struct Binding {
    Qt::Key key;
    void (*act)(Timeline& timeline, ViewState& state);
  };
  using T = Timeline;
  using S = ViewState;
  static constexpr Binding kBindings[] = {
      {Qt::Key_W, [](T& t, S& s) { s.zoom(1 / kKeyZoom, t.lanes_->zoom_anchor()); }},
      {Qt::Key_S, [](T& t, S& s) { s.zoom(kKeyZoom, t.lanes_->zoom_anchor()); }},
      {Qt::Key_A, [](T&, S& s) { s.pan(-s.axis().width * kKeyPan); }},
      {Qt::Key_Left, [](T&, S& s) { s.pan(-s.axis().width * kKeyPan); }},
      {Qt::Key_D, [](T&, S& s) { s.pan(s.axis().width * kKeyPan); }},
      {Qt::Key_Right, [](T&, S& s) { s.pan(s.axis().width * kKeyPan); }},
      {Qt::Key_Up, [](T&, S& s) { s.set_scroll(s.scroll() - Layout::kLaneHeight); }},
      {Qt::Key_Down, [](T&, S& s) { s.set_scroll(s.scroll() + Layout::kLaneHeight); }},
      {Qt::Key_PageUp, [](T& t, S& s) { s.set_scroll(s.scroll() - t.lanes_->height()); }},
      {Qt::Key_PageDown, [](T& t, S& s) { s.set_scroll(s.scroll() + t.lanes_->height()); }},
      {Qt::Key_F, [](T&, S& s) { s.fit_selection(); }},
      {Qt::Key_P, [](T& t, S&) { t.toggle_pin(); }},
      {Qt::Key_Home, [](T&, S& s) { s.fit(); }},
      {Qt::Key_L, [](T&, S& s) { s.set_colours_by_name(!s.name_colours()); }},
      {Qt::Key_M, [](T& t, S&) { t.toggle_mark(); }},
      {Qt::Key_N, [](T& t, S&) { t.write_note(); }},
      {Qt::Key_R, [](T&, S& s) { s.select_area_of_slice(); }},
      {Qt::Key_BracketLeft, [](T&, S& s) { s.follow_link(-1); }},
      {Qt::Key_BracketRight, [](T&, S& s) { s.follow_link(1); }},
      {Qt::Key_Period, [](T& t, S&) { t.step_slice(1); }},
      {Qt::Key_Comma, [](T& t, S&) { t.step_slice(-1); }},
  };
  const int key = event.key();
  const bool is_letter = key >= Qt::Key_A && key <= Qt::Key_Z;
  const auto others = Qt::ControlModifier | Qt::AltModifier;
  if (event.modifiers() & (is_letter ? others | Qt::ShiftModifier : others)) return false;
  if (key == Qt::Key_Escape) return drop_selection();
  const auto* binding = std::find_if(std::begin(kBindings), std::end(kBindings),
                                     [key](const Binding& one) { return one.key == key; });
  if (binding == std::end(kBindings)) return false;
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
