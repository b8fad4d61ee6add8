// The titles over a table. Drawn by ourselves: Fusion keeps a place for the sort mark beside every
// title, so that titles and figures do not line up, and its mark points up for "largest first".
#pragma once

#include <QHeaderView>

#include "viewer/widgets/theme.h"

namespace redline::viewer {

class TableHeader : public QHeaderView {
  Q_OBJECT

 public:
  /// Left and right of the words, in titles as in cells.
  static constexpr int kLeft = 14;
  static constexpr int kRight = 8;

  explicit TableHeader(QWidget* parent = nullptr);

 protected:
  void paintSection(QPainter* painter, const QRect& rect, int column) const override;
};

}  // namespace redline::viewer
