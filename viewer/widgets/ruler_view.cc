#include "viewer/widgets/ruler_view.h"

#include <QApplication>
#include <QMouseEvent>
#include <QPainter>
#include <cmath>

#include "viewer/models/ruler.h"

namespace redline::viewer {
namespace {

constexpr int kLabelPixels = 90;

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

// Flags that the lines over the lanes hang from, with their notes as far as the next one.
void RulerView::paint_marks(QPainter& painter) {
  const Theme& theme = state_.theme();
  painter.setFont(ui_font(11, QFont::DemiBold));
  const auto& marks = state_.marks();
  for (size_t i = 0; i < marks.size(); ++i) {
    const double x = std::clamp(state_.axis().x_of(marks[i].time_ns), -1e6, 1e6);
    const double next =
        i + 1 < marks.size() ? state_.axis().x_of(marks[i + 1].time_ns) : width() + 1.0;
    const QString note =
        painter.fontMetrics().elidedText(QString::fromStdString(marks[i].note), Qt::ElideRight,
                                         static_cast<int>(std::clamp(next - x - 12, 0.0, 260.0)));
    const int flag = painter.fontMetrics().horizontalAdvance(note) + 8;
    painter.fillRect(QRectF(x, 2, flag, 14), theme.graph);
    painter.fillRect(QRectF(x, 2, 1, height() - 2), theme.graph);
    painter.setPen(theme.dark ? theme.lanes : theme.text);
    painter.drawText(QRectF(x + 4, 2, flag, 14), Qt::AlignLeft | Qt::AlignVCenter, note);
  }
}

// Double click on a mark takes it away.
void RulerView::mouseDoubleClickEvent(QMouseEvent* event) {
  for (const Mark& mark : state_.marks()) {
    const double distance = event->position().x() - state_.axis().x_of(mark.time_ns);
    if (distance >= -2 && distance < 12) return state_.remove_mark(mark.time_ns);
  }
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
