// A class's colour, filling a widget: swatches and stripes.
#pragma once

#include <QWidget>

#include "viewer/widgets/theme.h"

namespace redline::viewer {

class ColourBox : public QWidget {
  Q_OBJECT

 public:
  /// The theme may change; what is painted next has its colours.
  ColourBox(const Theme& theme, SliceClass slice_class, double radius = 0)
      : theme_(theme), class_(slice_class), radius_(radius) {}

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  SliceClass class_;
  double radius_;
};

}  // namespace redline::viewer
