// The left column: ranks and processes, threads and streams. The name of a process stays in sight
// as long as one of its tracks is. A click on a row with a triangle folds it, a click on the pin
// keeps a track on top, the right button opens a menu with the rest. With the keyboard's focus the
// arrows choose a row, Enter folds, P pins and the menu key opens the menu.
#pragma once

#include <optional>

#include "viewer/widgets/items_view.h"
#include "viewer/widgets/view_state.h"

namespace redline::viewer {

class TrackColumn : public ItemsView {
  Q_OBJECT

 public:
  static constexpr int kWidth = 230;

  explicit TrackColumn(ViewState& state);

  /// The rows, as a screen reader finds them.
  [[nodiscard]] int item_count() const override;
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;
  void choose(int item) override;
  [[nodiscard]] int current() const override;

 protected:
  [[nodiscard]] int item_at(QPointF at) const override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  bool event(QEvent* event) override;

 private:
  /// The header of the group whose own header has scrolled away but whose tracks are still in
  /// sight.
  [[nodiscard]] std::optional<Row> sticky_header() const;
  [[nodiscard]] std::optional<Row> row_under(int y) const;
  [[nodiscard]] QRect pin_rect(const Row& row, const QRect& label) const;
  [[nodiscard]] QRect label_rect(const Row& row) const;

  /// The row that keys act on; null if it is gone.
  [[nodiscard]] const Row* current_row() const;
  void set_current(const Row& row);
  void move_current(int by);

  void paint_row(QPainter& painter, const Row& row);
  void paint_header(QPainter& painter, const Row& row, const QRect& rect);
  void paint_track(QPainter& painter, const Row& row, const QRect& rect);
  void paint_note(QPainter& painter, const Row& row, const QRect& line, int title_width);

  ViewState& state_;
  std::optional<RowId> hover_;
  std::optional<RowId> current_;
};

}  // namespace redline::viewer
