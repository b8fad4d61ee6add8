// The search field of the top bar, with "3 of 1,278" in it.
#pragma once

#include <QLabel>
#include <QLineEdit>

#include "viewer/widgets/view_state.h"

namespace redline::viewer {

class SearchField : public QLineEdit {
  Q_OBJECT

 public:
  explicit SearchField(ViewState& state, QWidget* parent = nullptr);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 signals:
  void left();  ///< Esc: the keys should go to the timeline again

 private:
  void show_count();

  ViewState& state_;
  QLabel* count_;
};

}  // namespace redline::viewer
