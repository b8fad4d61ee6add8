#include "viewer/widgets/ruler_view.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QMenu>
#include <QPainter>
#include <cmath>

#include "viewer/models/time_axis.h"
#include "viewer/widgets/note_dialog.h"

namespace redline::viewer {
namespace {

constexpr int kLabelPixels = 90;

QFont flag_font() { return ui_font(11, QFont::DemiBold); }

}  // namespace

RulerView::RulerView(ViewState& state, QWidget* parent) : QWidget(parent), state_(state) {
  setFixedHeight(kHeight);
  setAccessibleName(tr("Ruler"));
  connect(&state, &ViewState::axis_changed, this, qOverload<>(&QWidget::update));
  connect(&state, &ViewState::marks_changed, this, qOverload<>(&QWidget::update));
}

void RulerView::paintEvent(QPaintEvent*) {
  const Theme& theme = state_.theme();
  QPainter painter(this);
  painter.fillRect(rect(), theme.lanes);
  painter.setFont(ui_font(11));
  for (const Tick& tick : ruler_ticks(state_.axis(), 0, kLabelPixels)) {
    const int x = static_cast<int>(std::floor(state_.axis().x_of(tick.time_ns)));
    const bool labelled = !tick.label.empty();
    painter.fillRect(x, labelled ? 4 : 15, 1, height() - (labelled ? 4 : 15), theme.separator);
    if (!labelled) continue;
    const QString label = QString::fromStdString(tick.label);
    if (x + 4 + painter.fontMetrics().horizontalAdvance(label) > width()) continue;
    painter.setPen(theme.muted);
    painter.drawText(x + 4, 15, label);
  }
  painter.fillRect(0, height() - 1, width(), 1, theme.separator);
  paint_marks(painter);
}

// The lines over the lanes hang from them; each has room as far as the next one.
std::vector<RulerView::Flag> RulerView::flags() const {
  const QFontMetrics metrics(flag_font());
  const auto& marks = state_.marks();
  std::vector<Flag> flags;
  for (size_t i = 0; i < marks.size(); ++i) {
    const double x = std::clamp(state_.axis().x_of(marks[i].time_ns), -1e6, 1e6);
    const double next =
        i + 1 < marks.size() ? state_.axis().x_of(marks[i + 1].time_ns) : width() + 1.0;
    const QString note =
        metrics.elidedText(QString::fromStdString(marks[i].note), Qt::ElideRight,
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
  for (const Flag& flag : flags()) {
    if (at.x() >= flag.rect.left() - kSlack && at.x() < flag.rect.right() + kSlack) {
      return flag.mark;
    }
  }
  return nullptr;
}

// Double click on a mark takes it away.
void RulerView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const Mark* mark = mark_at(event->position())) state_.remove_mark(mark->time_ns);
}

void RulerView::contextMenuEvent(QContextMenuEvent* event) {
  const Mark* flag = mark_at(event->pos());
  if (!flag) return;
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const auto add = [&](const QString& text, const auto& act) {
    connect(menu->addAction(text), &QAction::triggered, this, act);
  };
  add(tr("Write its note …"),
      [this, mark = *flag] { ask_for_note(state_, mark.time_ns, mark.note, this); });
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
