#include "viewer/widgets/table_header.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

namespace redline::viewer {
namespace {

constexpr double kMark = 3.5;  // half the width of the sort mark

void draw_sort_mark(QPainter& painter, QPointF middle, bool ascending) {
  const double up = ascending ? -1 : 1;
  const QPointF corners[] = {middle + QPointF(-kMark, -up * kMark / 2),
                             middle + QPointF(kMark, -up * kMark / 2),
                             middle + QPointF(0, up * kMark / 2)};
  painter.setRenderHint(QPainter::Antialiasing);
  painter.drawPolygon(corners, 3);
}

}  // namespace

TableHeader::TableHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
  setHighlightSections(false);
  setSectionsClickable(true);
  setMinimumSectionSize(40);
  setMinimumHeight(26);
}

QPoint TableHeader::place_of(QPoint at) const {
  return at.x() < frozen_ ? at - QPoint(offset(), 0) : at;
}

namespace {

QMouseEvent moved(const QMouseEvent& event, QPoint to) {
  return {event.type(),     to, event.globalPosition(), event.button(), event.buttons(),
          event.modifiers()};
}

}  // namespace

void TableHeader::mousePressEvent(QMouseEvent* event) {
  QMouseEvent at_its_place = moved(*event, place_of(event->pos()));
  QHeaderView::mousePressEvent(&at_its_place);
}

void TableHeader::mouseMoveEvent(QMouseEvent* event) {
  QMouseEvent at_its_place = moved(*event, place_of(event->pos()));
  QHeaderView::mouseMoveEvent(&at_its_place);
}

void TableHeader::mouseReleaseEvent(QMouseEvent* event) {
  QMouseEvent at_its_place = moved(*event, place_of(event->pos()));
  QHeaderView::mouseReleaseEvent(&at_its_place);
}

bool TableHeader::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    QHelpEvent at_its_place(QEvent::ToolTip, place_of(help->pos()), help->globalPos());
    return QHeaderView::viewportEvent(&at_its_place);
  }
  return QHeaderView::viewportEvent(event);
}

void TableHeader::paintEvent(QPaintEvent* event) {
  QHeaderView::paintEvent(event);
  if (frozen_ == 0) return;
  QPainter painter(viewport());
  paintSection(&painter, QRect(0, 0, frozen_, height()), 0);
}

void TableHeader::paintSection(QPainter* painter, const QRect& rect, int column) const {
  const QVariant title = model()->headerData(column, orientation(), Qt::DisplayRole);
  const QVariant alignment = model()->headerData(column, orientation(), Qt::TextAlignmentRole);
  const QRect words = rect.adjusted(kLeft, 0, -kRight, 0);
  const QString text = fontMetrics().elidedText(title.toString(), Qt::ElideRight, words.width());
  painter->save();
  painter->fillRect(rect, palette().color(QPalette::Window));
  painter->setFont(font());
  painter->setPen(palette().color(QPalette::WindowText));
  painter->drawText(words, alignment.toInt(), text);
  if (isSortIndicatorShown() && sortIndicatorSection() == column) {
    const bool left = alignment.toInt() & Qt::AlignLeft;
    const int width = fontMetrics().horizontalAdvance(text);
    const double x = left ? words.left() + width + 8 : words.right() - width - 7;
    painter->setBrush(painter->pen().color());
    painter->setPen(Qt::NoPen);
    draw_sort_mark(*painter, {x, rect.center().y() + 0.5},
                   sortIndicatorOrder() == Qt::AscendingOrder);
  }
  painter->restore();
}

}  // namespace redline::viewer
