// How far reading is, and the button that ends it.
#pragma once

#include <QProgressBar>
#include <QWidget>

namespace redline::viewer {

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
};

}  // namespace redline::viewer
