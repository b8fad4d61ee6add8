// The titles over the columns of a table.
#pragma once

#include <QHeaderView>

namespace redline::viewer {

/// The titles over a table. Qt's Fusion style keeps a place for the sort mark beside every title,
/// so that titles and figures do not line up, and its mark points up for "largest first".
class TableHeader : public QHeaderView {
  Q_OBJECT

 public:
  /// Pixels left and right of the words, the same in titles and in cells.
  static constexpr int kLeft = 14;
  static constexpr int kRight = 8;

  explicit TableHeader(QWidget* parent);

  /// Pixels of the first column that stay at the left while the others scroll under them.
  void set_frozen(int width) { frozen_ = width; }

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void paintSection(QPainter* painter, const QRect& rect, int column) const override;

 private:
  /// A point of the frozen title, where its column would be without that; others as they are.
  [[nodiscard]] QPoint place_of(QPoint at) const;

  int frozen_ = 0;
};

}  // namespace redline::viewer
