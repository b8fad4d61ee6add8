// The small parts that panes and bars are made of.
#pragma once

#include <QElapsedTimer>
#include <QLabel>
#include <QProgressBar>
#include <QString>
#include <QWidget>
#include <string>

#include "viewer/widgets/theme.h"

namespace redline::viewer {

/// Text from the models as a QString.
[[nodiscard]] inline QString text(const std::string& utf8) { return QString::fromStdString(utf8); }

/// A label that shows as much of its text as fits; the tooltip shows all of it.
class ElidedLabel : public QLabel {
  Q_OBJECT

 public:
  using QLabel::QLabel;

  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
};

/// A box in the colour of a class: swatches and stripes.
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

/// How far reading is, and the button that ends it.
class LoadProgress : public QWidget {
  Q_OBJECT

 public:
  explicit LoadProgress(QWidget* parent = nullptr);

  /// Bytes of the file that is being read; 0 of 0: it has not begun.
  void show_bytes(quint64 done, quint64 total);

 signals:
  void cancelled();

 private:
  QProgressBar* bar_;
  QElapsedTimer since_begin_;  ///< of the file that is being read
  quint64 last_done_ = 0;
};

}  // namespace redline::viewer
