#include "viewer/widgets/roofline_view.h"

#include <QPainter>
#include <cmath>

#include "viewer/models/format.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/table_header.h"

namespace redline::viewer {
namespace {

constexpr int kRooflineHeight = 130;
constexpr int kRateRoom = 56;  // for the numbers of the axis
constexpr int kIntensityRoom = 18;

}  // namespace

RooflineView::RooflineView(ViewState& state) : state_(state) {
  setFixedHeight(kRooflineHeight);
  setAccessibleName(tr("Roofline: rate over operations a byte"));
  hide();  // a tab's widgets take room from the timeline, even where the tab is hidden
  connect(&state, &ViewState::theme_changed, this, qOverload<>(&QWidget::update));
}

void RooflineView::show_picture(RooflinePicture picture) {
  picture_ = std::move(picture);
  setVisible(!picture_.plot.empty());
  forget_current();
  update();
}

QString RooflineView::item_text(int item) const {
  return printable_text(picture_.hints[static_cast<size_t>(item)]);
}

QRectF RooflineView::plot() const {
  return QRectF(rect()).adjusted(TableHeader::kLeft + kRateRoom, 8, -TableHeader::kRight,
                                 -kIntensityRoom);
}

QPointF RooflineView::at(double x, double y) const {
  const QRectF room = plot();
  return {room.left() + x * room.width(), room.bottom() - y * room.height()};
}

QRectF RooflineView::item_rect(int item) const {
  const auto& circle = picture_.plot.circles[static_cast<size_t>(item)];
  const double radius = 2 + 8 * std::sqrt(circle.share);
  const QPointF centre = at(circle.x, circle.y);
  return {centre.x() - radius, centre.y() - radius, 2 * radius, 2 * radius};
}

// Of several the smallest, which is drawn on top.
int RooflineView::item_at(QPointF place) const {
  for (int item = item_count() - 1; item >= 0; --item) {
    const QRectF box = item_rect(item);
    const QPointF from_centre = place - box.center();
    if (std::hypot(from_centre.x(), from_centre.y()) <= box.width() / 2 + 1) return item;
  }
  return kNoItem;
}

void RooflineView::choose(int item) {
  emit row_chosen(picture_.plot.circles[static_cast<size_t>(item)].row);
}

void RooflineView::paint_grid(QPainter& painter) const {
  const Theme& theme = state_.theme();
  const QRectF room = plot();
  painter.setFont(ui_font(10));
  for (const auto& tick : picture_.plot.y_ticks) {
    const double y = at(0, tick.place).y();
    painter.fillRect(QRectF(room.left(), y, room.width(), 1), theme.separator);
    painter.setPen(theme.muted);
    painter.drawText(QRectF(room.left() - kRateRoom, y - 8, kRateRoom - 6, 16),
                     Qt::AlignRight | Qt::AlignVCenter, text(tick.text));
  }
  for (const auto& tick : picture_.plot.x_ticks) {
    const double x = at(tick.place, 0).x();
    painter.fillRect(QRectF(x, room.top(), 1, room.height()), theme.separator);
    painter.setPen(theme.muted);
    painter.drawText(QRectF(x - 30, room.bottom() + 2, 60, kIntensityRoom - 2), Qt::AlignCenter,
                     text(tick.text));
  }
  painter.setPen(theme.muted);
  painter.drawText(room.adjusted(6, 2, -6, -4), Qt::AlignLeft | Qt::AlignTop, tr("TFLOP/s"));
  painter.drawText(room.adjusted(6, 2, -6, -4), Qt::AlignRight | Qt::AlignBottom,
                   tr("operations a byte"));
}

void RooflineView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = state_.theme();
  painter.fillRect(rect(), theme.panel);
  if (picture_.plot.empty()) return;
  paint_grid(painter);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.save();
  painter.setClipRect(plot());
  painter.setPen(QPen(theme.graph, 1.5));
  for (const auto& roof : picture_.plot.roofs) {
    const QPointF ridge = at(roof.ridge_x, roof.peak_y);
    painter.drawLine(at(0, roof.left_y), ridge);
    painter.drawLine(ridge, at(1, roof.peak_y));
  }
  painter.restore();
  for (int item = 0; item < item_count(); ++item) {
    const auto& circle = picture_.plot.circles[static_cast<size_t>(item)];
    QColor fill = theme.of(circle.is_product ? SliceClass::kCompute : SliceClass::kCopy);
    painter.setPen(fill);
    fill.setAlphaF(0.55F);
    painter.setBrush(fill);
    painter.drawEllipse(item_rect(item));
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setBrush(Qt::NoBrush);
  paint_focus(painter, theme.text);
}

}  // namespace redline::viewer
