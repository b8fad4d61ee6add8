// Where a part of the window stands beside the rest of its splitter, and how they share the room.
// The user can move the tables and the panes to any side of the timeline; the next window has them
// there.
#pragma once

#include <QObject>
#include <QSplitter>

class QMenu;

namespace redline::viewer {

class Place : public QObject {
  Q_OBJECT

 public:
  enum Side { kLeft, kRight, kAbove, kBelow };

  /// The splitter has `part` and one other widget. At its first side the part has `first_size`
  /// pixels. `name` is the key in the user's settings.
  Place(QSplitter& splitter, QWidget& part, Side first, int first_size, const QString& name);

  [[nodiscard]] Side side() const { return side_; }
  /// Whether the user has divided the room or moved the part, now or in an earlier window.
  [[nodiscard]] bool is_chosen() const { return is_chosen_; }
  /// What the user does with the menu.
  void move_to(Side side);
  /// Moves the part where it was in the last window, and remembers what the user changes.
  void keep();
  /// Adds an item for each side, and one that undoes what the user has changed.
  void fill(QMenu& menu);

 signals:
  void reset();  ///< the part is where it was at first; the window may divide the room anew

 private:
  void put(Side side);
  void remember();

  QSplitter& splitter_;
  QWidget& part_;
  Side first_;
  int first_size_;
  Side side_;
  QString key_;
  bool is_chosen_ = false;
  bool is_kept_ = false;
};

}  // namespace redline::viewer
