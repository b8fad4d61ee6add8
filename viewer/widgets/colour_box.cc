#include "viewer/widgets/colour_box.h"

#include <QPainter>

namespace redline::viewer {

void ColourBox::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme_.of(class_));
  painter.drawRoundedRect(rect(), radius_, radius_);
}

}  // namespace redline::viewer
