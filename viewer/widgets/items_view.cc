#include "viewer/widgets/items_view.h"

#include <QAccessible>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "viewer/models/tooltip.h"

namespace redline::viewer {

ItemsView::ItemsView() {
  setFocusPolicy(Qt::TabFocus);
  install_items_accessible();
}

int ItemsView::item_after(int item, int key) const {
  switch (key) {
    case Qt::Key_Left:
    case Qt::Key_Up:
      return std::max(item - 1, 0);
    case Qt::Key_Right:
    case Qt::Key_Down:
      return std::min(item + 1, item_count() - 1);
    case Qt::Key_Home:
      return 0;
    case Qt::Key_End:
      return item_count() - 1;
    default:
      return kNoItem;
  }
}

void ItemsView::forget_current() {
  current_ = kNoItem;
  update();
}

// With the keyboard, too, the words appear beside the item, as they do under the mouse.
void ItemsView::set_current(int item) {
  current_ = item;
  update();
  QAccessibleEvent event(this, QAccessible::Focus);
  event.setChild(item);
  QAccessible::updateAccessibility(&event);
  const QRect rect = item_rect(item).toAlignedRect();
  QToolTip::showText(mapToGlobal(rect.bottomRight()), tooltip_of(item_text(item)), this);
}

void ItemsView::paint_focus(QPainter& painter, const QColor& colour) const {
  if (!hasFocus() || current_ >= item_count() || current_ == kNoItem) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(colour, 2));
  painter.drawRoundedRect(item_rect(current_).adjusted(-3, -3, 3, 3), 3, 3);
}

void ItemsView::keyPressEvent(QKeyEvent* event) {
  const int key = event->key();
  const bool plain = !(event->modifiers() & (Qt::ControlModifier | Qt::AltModifier));
  if (item_count() == 0 || !plain) return QWidget::keyPressEvent(event);
  const int from = std::clamp(current_, 0, item_count() - 1);
  if (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space) return choose(from);
  const int to = item_after(from, key);
  if (to == kNoItem) return QWidget::keyPressEvent(event);
  set_current(to);
}

void ItemsView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return QWidget::mousePressEvent(event);
  const int item = item_at(event->position());
  if (item == kNoItem) return;
  current_ = item;
  choose(item);
}

void ItemsView::focusInEvent(QFocusEvent* event) {
  const bool by_mouse = event->reason() == Qt::MouseFocusReason;
  if (item_count() > 0 && !by_mouse) {
    set_current(current_ == kNoItem ? first_item() : std::min(current_, item_count() - 1));
  }
  update();
}

void ItemsView::focusOutEvent(QFocusEvent*) {
  QToolTip::hideText();
  update();
}

bool ItemsView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int item = item_at(help->pos());
  item == kNoItem ? QToolTip::hideText()
                  : QToolTip::showText(help->globalPos(), tooltip_of(item_text(item)), this);
  return true;
}

}  // namespace redline::viewer
