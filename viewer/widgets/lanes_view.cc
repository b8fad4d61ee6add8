#include "viewer/widgets/lanes_view.h"

#include <QApplication>
#include <QHelpEvent>
#include <QMenu>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <cmath>

#include "viewer/models/format.h"
#include "viewer/models/tooltip.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/popups.h"

namespace redline::viewer {
namespace {

constexpr double kWheelZoom = 1.25;   // a notch
constexpr double kNotch = 120;        // Qt's wheel units a notch
constexpr double kScrollPixels = 60;  // a notch

}  // namespace

LanesView::LanesView(ViewState& state) : state_(state), painter_(state.theme()) {
  setMouseTracking(true);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Timeline"));
  connect(&state, &ViewState::axis_changed, this, &LanesView::repaint_slices);
  connect(&state, &ViewState::layout_changed, this, &LanesView::repaint_slices);
  connect(&state, &ViewState::colours_changed, this, &LanesView::repaint_slices);
  connect(&state, &ViewState::scroll_changed, this, &LanesView::repaint_slices);
  connect(&state, &ViewState::search_changed, this, &LanesView::repaint_slices);
  connect(&state, &ViewState::theme_changed, this, &LanesView::take_theme);
  // Moving the mouse repaints the overlay only.
  connect(&state, &ViewState::selection_changed, this, qOverload<>(&QWidget::update));
  connect(&state, &ViewState::selection_changed, this, &LanesView::say_selection);
  connect(&state, &ViewState::session_changed, this, &LanesView::say_selection);
  connect(&state, &ViewState::hover_changed, this, qOverload<>(&QWidget::update));
  connect(&state, &ViewState::marks_changed, this, qOverload<>(&QWidget::update));
  connect(&state, &ViewState::area_changed, this, qOverload<>(&QWidget::update));
}

void LanesView::repaint_slices() {
  image_ = QImage();
  update();
}

// For screen readers, which announce it.
void LanesView::say_selection() {
  const SliceRef ref = state_.selection();
  if (!ref) return setAccessibleDescription(tr("nothing is selected"));
  const TimeRange range = state_.session().range_of(ref);
  const Row* row = state_.layout().row_of(state_.session(), ref);
  std::string words = printable(state_.session().name_of(ref).substr(0, 200)) + ", " +
                      format_duration(range.span_ns()) + " at " + format_time(range.begin_ns);
  if (row) {
    words +=
        ", " + state_.layout().group_of(*row).title + ", " + state_.layout().item_of(*row).title;
  }
  setAccessibleDescription(text(words));
}

void LanesView::take_theme() {
  painter_.emplace(state_.theme());
  repaint_slices();
}

double LanesView::zoom_anchor() const {
  const QPoint cursor = mapFromGlobal(QCursor::pos());
  return rect().contains(cursor) ? cursor.x() : width() / 2.0;
}

void LanesView::resizeEvent(QResizeEvent*) { state_.set_size(width(), height()); }

void LanesView::paintEvent(QPaintEvent*) {
  if (image_.isNull()) {
    image_ = painter_->paint(scene_of(state_), size(), devicePixelRatioF());
  }
  QPainter painter(this);
  painter.drawImage(0, 0, image_);
  paint_overlay(painter, state_, size());
  paint_focus_frame(painter, *this, state_.theme());
  if (!state_.session().traces().empty() && state_.layout().rows().empty()) {
    painter.setFont(ui_font(12));
    painter.setPen(state_.theme().muted);
    painter.drawText(rect(), Qt::AlignCenter,
                     state_.layout().groups().empty()
                         ? tr("No slices in this trace: nothing to draw.")
                         : tr("No track is left: change the filter, or show the hidden ones."));
  }
}

void LanesView::wheelEvent(QWheelEvent* event) {
  // A touchpad reports both directions; Alt or Shift turn a plain wheel sideways.
  QPointF turn = QPointF(event->angleDelta()) / kNotch;
  const Qt::KeyboardModifiers keys = event->modifiers();
  if (keys & Qt::ControlModifier) {
    state_.zoom(std::pow(kWheelZoom, -turn.y()), event->position().x());
  } else {
    if (keys & Qt::ShiftModifier && turn.x() == 0) turn = QPointF(turn.y(), 0);
    if (turn.x() != 0) state_.pan(-turn.x() * kScrollPixels);
    if (turn.y() != 0) {
      state_.set_scroll(state_.scroll() - static_cast<int>(std::lround(turn.y() * kScrollPixels)));
    }
  }
  event->accept();
}

void LanesView::mousePressEvent(QMouseEvent* event) {
  setFocus();
  if (event->button() != Qt::LeftButton) return;
  pressed_ = last_ = event->pos();
  dragging_ = false;
  selecting_area_ = event->modifiers() & Qt::ShiftModifier;
}

void LanesView::mouseMoveEvent(QMouseEvent* event) {
  if (!pressed_) {
    state_.set_hover(state_.slice_at(event->position().x(), event->pos().y()));
    return;
  }
  if (!dragging_) {
    const int moved = (event->pos() - *pressed_).manhattanLength();
    if (moved < QApplication::startDragDistance()) return;
    dragging_ = true;
    setCursor(selecting_area_ ? Qt::CrossCursor : Qt::ClosedHandCursor);
  }
  if (selecting_area_) return state_.select_area(*pressed_, event->pos());
  const QPoint step = event->pos() - last_;
  last_ = event->pos();
  state_.pan(-step.x());
  state_.set_scroll(state_.scroll() - step.y());
}

void LanesView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !pressed_) return;
  if (!dragging_ && !state_.choose_gap_at(event->position().x(), event->pos().y())) {
    state_.select(state_.slice_at(event->position().x(), event->pos().y()));
  }
  pressed_.reset();
  dragging_ = false;
  unsetCursor();
}

void LanesView::mouseDoubleClickEvent(QMouseEvent* event) {
  const SliceRef ref = state_.slice_at(event->position().x(), event->pos().y());
  if (!ref) return;
  state_.select(ref);
  state_.fit_selection();
}

// The mouse opens the menu of what is under it, the menu key that of what is selected.
void LanesView::contextMenuEvent(QContextMenuEvent* event) {
  const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
  const SliceRef ref =
      by_key ? state_.selection() : state_.slice_at(event->pos().x(), event->pos().y());
  const Row* row = ref ? state_.layout().row_of(state_.session(), ref)
                       : state_.row_at(by_key ? -1 : event->pos().y());
  make_track_menu(state_, row ? std::optional(*row) : std::nullopt, this, ref)
      ->popup(event->globalPos());
}

void LanesView::leaveEvent(QEvent*) { state_.set_hover({}); }

bool LanesView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  show_tip(static_cast<QHelpEvent*>(event));
  return true;
}

// Describes what is under the cursor: a slice, what a GPU did, or the value of a graph.
QString LanesView::tip_at(QPoint at) const {
  const Session& session = state_.session();
  if (const SliceRef ref = state_.slice_at(at.x(), at.y())) {
    const std::string name = printable(session.name_of(ref).substr(0, 400));
    const std::string duration = format_duration(session.range_of(ref).span_ns());
    return QStringLiteral("<p style='white-space:pre-wrap'>%1<br><b>%2</b></p>")
        .arg(text(name).toHtmlEscaped(), text(duration));
  }
  const Row* row = state_.row_at(at.y());
  if (!row || row->is_header()) return {};
  const TrackItem& item = state_.layout().item_of(*row);
  const int64_t time = session.traces()[row->trace].local(state_.axis()).time_at(at.x());
  if (item.kind == TrackItem::Kind::kDevice) {
    return tooltip_of(text(state_.derived().devices[item.index].text_at(time)));
  }
  if (item.kind == TrackItem::Kind::kMarks) {
    const MarksLane& lane = state_.derived().marks[item.index];
    const auto mark = lane.mark_at(time, state_.hit_tolerance_ns());
    return mark ? tooltip_of(text(lane.text_of(session, *mark))) : QString();
  }
  if (item.kind != TrackItem::Kind::kGraph) return {};
  const GraphTrack& track = state_.derived().graphs[item.index];
  return tooltip_of(text(track.title + ": " + track.graph.text(track.graph.at(time))));
}

void LanesView::show_tip(QHelpEvent* event) {
  const QString tip = tip_at(event->pos());
  tip.isEmpty() ? QToolTip::hideText() : QToolTip::showText(event->globalPos(), tip, this);
}

}  // namespace redline::viewer
