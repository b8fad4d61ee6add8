#include "viewer/widgets/ruler_view.h"

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
    painter.setPen(theme.muted);
    painter.drawText(x + 4, 15, QString::fromStdString(tick.label));
  }
  painter.fillRect(0, height() - 1, width(), 1, theme.separator);
}

void RulerView::mousePressEvent(QMouseEvent* event) { last_x_ = event->position().x(); }

void RulerView::mouseMoveEvent(QMouseEvent* event) {
  if (!(event->buttons() & Qt::LeftButton)) return;
  state_.pan(last_x_ - event->position().x());
  last_x_ = event->position().x();
}

void RulerView::wheelEvent(QWheelEvent* event) {
  state_.zoom(std::pow(1.25, -event->angleDelta().y() / 120.0), event->position().x());
  event->accept();
}

}  // namespace redline::viewer
