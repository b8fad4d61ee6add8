// A label that shows as much of its text as fits, the tooltip all of it.
#pragma once

#include <QLabel>

namespace redline::viewer {

class ElidedLabel : public QLabel {
  Q_OBJECT

 public:
  using QLabel::QLabel;

  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
};

}  // namespace redline::viewer
