#include "viewer/widgets/overview_strip.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "viewer/models/format.h"
#include "viewer/models/overview.h"
#include "viewer/models/time_axis.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/popups.h"

namespace redline::viewer {
namespace {

constexpr int kBaseHeight = 6;  // the DataLoader's band
constexpr int kTopMargin = 16;  // the steps' names
constexpr int kBottomMargin = 2;

QString step_label(const std::string& name) {
  const QString words = text(name);
  return QStringLiteral("step ") + words.mid(words.indexOf(QLatin1Char('#')) + 1);
}

}  // namespace

OverviewStrip::OverviewStrip(ViewState& state) : state_(state) {
  setFixedHeight(kHeight);
  setAccessibleName(tr("Overview"));
  connect(&state, &ViewState::session_changed, this, &OverviewStrip::recompute);
  connect(&state, &ViewState::ranks_changed, this, &OverviewStrip::recompute);
  connect(&state, &ViewState::axis_changed, this, qOverload<>(&QWidget::update));
}

TimeAxis OverviewStrip::whole() const {
  return TimeAxis{0, 1, std::max(width(), 1)}.showing(state_.session().range());
}

void OverviewStrip::recompute() {
  columns_ = overview_columns(state_.session(), width());
  update();
}

void OverviewStrip::resizeEvent(QResizeEvent*) { recompute(); }

void OverviewStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), state_.theme().lanes);
  paint_columns(painter);
  paint_steps(painter);
  if (!state_.session().traces().empty()) paint_window(painter);
  painter.fillRect(0, height() - 1, width(), 1, state_.theme().separator);
}

void OverviewStrip::paint_columns(QPainter& painter) {
  const int base = height() - kBottomMargin - kBaseHeight;
  const double room = base - kTopMargin;
  for (int x = 0; x < static_cast<int>(columns_.size()); ++x) {
    const OverviewColumn& column = columns_[static_cast<size_t>(x)];
    if (column.busy > 0) {
      const int bar = std::max(1, static_cast<int>(std::lround(column.busy * room)));
      painter.fillRect(x, base - bar, 1, bar, state_.theme().of(column.main_class));
    }
    if (column.dataloader > 0.05) {
      painter.fillRect(x, base, 1, kBaseHeight, state_.theme().of(SliceClass::kDataLoader));
    }
  }
}

void OverviewStrip::paint_steps(QPainter& painter) {
  const TimeAxis axis = whole();
  painter.setFont(ui_font(11));
  int free_from = 0;
  for (const Step& step : state_.session().steps()) {
    const int x = static_cast<int>(axis.x_of(step.range.begin_ns));
    if (x < free_from) continue;
    const QString label = step_label(step.name);
    painter.fillRect(x, 0, 1, height() - 1, state_.theme().separator);
    free_from = x + painter.fontMetrics().horizontalAdvance(label) + 14;
    if (free_from - 10 > width()) continue;
    painter.setPen(state_.theme().text);  // can be read through the shade of what is shown, too
    painter.drawText(x + 4, 12, label);
  }
}

void OverviewStrip::paint_window(QPainter& painter) {
  const TimeAxis axis = whole();
  const double left = std::max(axis.x_of(state_.axis().begin_ns), 0.0);
  const double right = std::min(axis.x_of(state_.axis().end_ns()), static_cast<double>(width()));
  if (left <= 0 && right >= width()) return;
  const QRectF window(left, 0, std::max(right - left, 2.0), height() - 1);
  QColor shade = state_.theme().accent;
  shade.setAlpha(40);
  painter.fillRect(window, shade);
  painter.fillRect(QRectF(window.left(), 0, 1.5, window.height()), state_.theme().accent);
  painter.fillRect(QRectF(window.right() - 1.5, 0, 1.5, window.height()), state_.theme().accent);
}

void OverviewStrip::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const int64_t time = whole().time_at(event->position().x());
  // A drag inside the window moves it; a drag outside, or with everything in sight, draws a new
  // one.
  const TimeRange shown = state_.axis().range(), all = whole().range();
  const bool is_all = shown.begin_ns <= all.begin_ns && shown.end_ns >= all.end_ns;
  moving_window_ = shown.contains(time) && !is_all;
  drag_from_ = event->position().x();
}

void OverviewStrip::mouseMoveEvent(QMouseEvent* event) {
  if (!drag_from_) return;
  const double x = event->position().x();
  const TimeAxis axis = whole();
  if (moving_window_) {
    const double moved = (x - *drag_from_) * axis.ns_per_pixel();
    state_.pan(moved / state_.axis().ns_per_pixel());
    drag_from_ = x;
  } else if (std::abs(x - *drag_from_) >= 3) {
    state_.set_range(
        {axis.time_at(std::min(x, *drag_from_)), axis.time_at(std::max(x, *drag_from_))});
  }
}

void OverviewStrip::mouseReleaseEvent(QMouseEvent* event) {
  if (!drag_from_) return;
  const int64_t time = whole().time_at(event->position().x());
  const bool is_shown = moving_window_ || state_.axis().range().contains(time);
  if (!is_shown && std::abs(event->position().x() - *drag_from_) < 3) {
    const int64_t half = state_.axis().span_ns / 2;
    const int64_t begin = saturating_sub(time, half);
    state_.set_range({begin, saturating_sum(begin, state_.axis().span_ns)});
  }
  drag_from_.reset();
}

void OverviewStrip::wheelEvent(QWheelEvent* event) {
  const TimeAxis& axis = state_.axis();
  const double x = axis.x_of(whole().time_at(event->position().x()));
  const double anchor = std::clamp(x, 0.0, static_cast<double>(axis.width));
  state_.zoom(std::pow(1.25, -event->angleDelta().y() / 120.0), anchor);
  event->accept();
}

namespace {

constexpr int kLabelPixels = 90;
constexpr int kLabelLeft = 4;  // from its mark
constexpr int kLabelGap = 4;   // to the next mark

QFont flag_font() { return ui_font(11, QFont::DemiBold); }

}  // namespace

RulerView::RulerView(ViewState& state) : state_(state) {
  setFixedHeight(kHeight);
  setFocusPolicy(Qt::TabFocus);
  setAccessibleName(tr("Ruler"));
  connect(&state, &ViewState::axis_changed, this, qOverload<>(&QWidget::update));
  connect(&state, &ViewState::axis_changed, this, [this] {
    const TimeRange shown = state_.axis().range();
    setAccessibleDescription(
        tr("%1 shown, from %2")
            .arg(text(format_duration(shown.span_ns())), text(format_time(shown.begin_ns))));
  });
  connect(&state, &ViewState::marks_changed, this, qOverload<>(&QWidget::update));
}

std::vector<Tick> RulerView::ticks() const {
  const QFontMetrics metrics(ui_font(11));
  std::vector<Tick> ticks = ruler_ticks(state_.axis(), 0, kLabelPixels);
  int widest = 0;
  for (const Tick& tick : ticks) {
    widest = std::max(widest, kLabelLeft + metrics.horizontalAdvance(text(tick.label)) + kLabelGap);
  }
  if (widest > kLabelPixels) ticks = ruler_ticks(state_.axis(), 0, widest);
  const std::vector<Flag> flags = this->flags();
  for (Tick& tick : ticks) {
    const double left = state_.axis().x_of(tick.time_ns) + kLabelLeft;
    const double right = left + metrics.horizontalAdvance(text(tick.label));
    const bool is_covered = std::ranges::any_of(flags, [&](const Flag& flag) {
      return flag.rect.left() < right && left < flag.rect.right();
    });
    if (is_covered || left < 0) tick.label.clear();  // a figure without its first digit is another
  }
  return ticks;
}

void RulerView::paintEvent(QPaintEvent*) {
  const Theme& theme = state_.theme();
  QPainter painter(this);
  painter.fillRect(rect(), theme.lanes);
  painter.setFont(ui_font(11));
  for (const Tick& tick : ticks()) {
    const int x = static_cast<int>(std::floor(state_.axis().x_of(tick.time_ns)));
    const bool labelled = !tick.label.empty();
    painter.fillRect(x, labelled ? 4 : 15, 1, height() - (labelled ? 4 : 15), theme.separator);
    if (!labelled) continue;
    const QString label = text(tick.label);
    if (x + kLabelLeft + painter.fontMetrics().horizontalAdvance(label) > width()) continue;
    painter.setPen(theme.muted);
    painter.drawText(x + kLabelLeft, 15, label);
  }
  painter.fillRect(0, height() - 1, width(), 1, theme.separator);
  paint_marks(painter);
  paint_focus_frame(painter, *this, theme);
}

// The flags of the marks, from which the lines over the lanes hang. Each has room up to the next
// one.
std::vector<RulerView::Flag> RulerView::flags() const {
  const QFontMetrics metrics(flag_font());
  const auto& marks = state_.marks();
  std::vector<Flag> flags;
  for (size_t i = 0; i < marks.size(); ++i) {
    const double x = std::clamp(state_.axis().x_of(marks[i].time_ns), -1e6, 1e6);
    const double next =
        i + 1 < marks.size() ? state_.axis().x_of(marks[i + 1].time_ns) : width() + 1.0;
    const QString note =
        metrics.elidedText(text(marks[i].note), Qt::ElideRight,
                           static_cast<int>(std::clamp(next - x - 12, 0.0, 260.0)));
    flags.push_back({&marks[i], QRectF(x, 2, metrics.horizontalAdvance(note) + 8, 14), note});
  }
  return flags;
}

void RulerView::paint_marks(QPainter& painter) {
  const Theme& theme = state_.theme();
  painter.setFont(flag_font());
  painter.setPen(theme.dark ? theme.lanes : theme.text);
  for (const Flag& flag : flags()) {
    painter.fillRect(flag.rect, theme.graph);
    painter.fillRect(QRectF(flag.rect.x(), 2, 1, height() - 2), theme.graph);
    painter.drawText(flag.rect.translated(4, 0), Qt::AlignLeft | Qt::AlignVCenter, flag.note);
  }
}

const Mark* RulerView::mark_at(QPointF at) const {
  constexpr double kSlack = 2;
  const std::vector<Flag> flags = this->flags();
  const auto is_under = [at](const Flag& flag) {
    return at.x() >= flag.rect.left() - kSlack && at.x() < flag.rect.right() + kSlack;
  };
  const auto last = std::find_if(flags.rbegin(), flags.rend(), is_under);  // it lies on top
  return last == flags.rend() ? nullptr : last->mark;
}

// The mark in sight that is nearest to the middle.
const Mark* RulerView::mark_in_the_middle() const {
  const double middle = width() / 2.0;
  const Mark* nearest = nullptr;
  double least = middle;
  for (const Mark& mark : state_.marks()) {
    const double away = std::abs(state_.axis().x_of(mark.time_ns) - middle);
    if (away > least) continue;
    least = away;
    nearest = &mark;
  }
  return nearest;
}

// A double click on a mark removes it.
void RulerView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const Mark* mark = mark_at(event->position())) state_.remove_mark(mark->time_ns);
}

void RulerView::contextMenuEvent(QContextMenuEvent* event) {
  const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
  const Mark* flag = by_key ? mark_in_the_middle() : mark_at(event->pos());
  if (!flag) return;
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (const auto signal : {&ViewState::session_changed, &ViewState::marks_changed}) {
    connect(&state_, signal, menu, &QWidget::close);  // the flag may be gone, or at another time
  }
  const auto add = [&](const QString& text, const auto& act) {
    connect(menu->addAction(text), &QAction::triggered, this, act);
  };
  add(tr("Write its note …"), [this, mark = *flag] { ask_for_note(state_, mark, this); });
  add(tr("Unmark"), [this, time = flag->time_ns] { state_.remove_mark(time); });
  menu->popup(event->globalPos());
}

void RulerView::mousePressEvent(QMouseEvent* event) { pressed_x_ = event->position().x(); }

void RulerView::mouseMoveEvent(QMouseEvent* event) {
  if (!(event->buttons() & Qt::LeftButton)) return;
  const double x = event->position().x();
  if (std::abs(x - pressed_x_) < QApplication::startDragDistance() / 2.0) return;
  state_.select_time({state_.axis().time_at(std::min(x, pressed_x_)),
                      state_.axis().time_at(std::max(x, pressed_x_))});
}

void RulerView::wheelEvent(QWheelEvent* event) {
  state_.zoom(std::pow(1.25, -event->angleDelta().y() / 120.0), event->position().x());
  event->accept();
}

}  // namespace redline::viewer
