// What the file says of the selected slice.
#pragma once

#include <QLabel>
#include <QTableWidget>
#include <QWidget>

#include "viewer/widgets/view_state.h"

namespace redline::viewer {

class DetailsPane : public QWidget {
  Q_OBJECT

 public:
  explicit DetailsPane(ViewState& state, QWidget* parent = nullptr);

 private:
  void show_selection();

  ViewState& state_;
  QLabel* name_;
  QLabel* duration_;
  QTableWidget* table_;  // some dozens of rows: one slice's own fields
};

}  // namespace redline::viewer
