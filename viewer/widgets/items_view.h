// A painted set of items that can be chosen: points of a chart, bars, names of the legend. A click
// chooses one. With the keyboard's focus the arrow keys walk from item to item and Enter chooses. A
// screen reader finds them as a list: without this base a painted widget would be silent to it.
#pragma once

#include <QWidget>

namespace redline::viewer {

class ItemsView : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kNoItem = -1;

  ItemsView();

  [[nodiscard]] virtual int item_count() const = 0;
  /// What the tooltip and a screen reader say.
  [[nodiscard]] virtual QString item_text(int item) const = 0;
  [[nodiscard]] virtual QRectF item_rect(int item) const = 0;
  /// What a click and Enter do.
  virtual void choose(int item) = 0;
  /// The item that the keyboard is at; kNoItem: none.
  [[nodiscard]] virtual int current() const { return current_; }

 protected:
  [[nodiscard]] virtual int item_at(QPointF at) const = 0;
  /// The item that a key leads to from `item`; kNoItem: the key does not walk.
  [[nodiscard]] virtual int item_after(int item, int key) const;
  /// The item at which the keyboard begins.
  [[nodiscard]] virtual int first_item() const { return 0; }
  /// Must be called when the items change; the keyboard then begins at the first item again.
  void forget_current();
  /// Paints a frame around the current item while this widget has the keyboard's focus.
  void paint_focus(QPainter& painter, const QColor& colour) const;

  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void set_current(int item);

  int current_ = kNoItem;
};

/// Shows every ItemsView to screen readers as a list of items that can be pressed.
void install_items_accessible();

}  // namespace redline::viewer
