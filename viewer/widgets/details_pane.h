// What the file says of the selected slice.
#pragma once

#include <QLabel>
#include <QTableWidget>
#include <QWidget>

#include "viewer/widgets/table_view.h"
#include "viewer/widgets/view_state.h"

namespace redline::viewer {

class DetailsPane : public QWidget {
  Q_OBJECT

 public:
  explicit DetailsPane(ViewState& state, QWidget* parent = nullptr);

 private:
  void show_selection();
  void show_links();

  ViewState& state_;
  QLabel* hint_;
  QLabel* name_;
  QLabel* duration_;
  TableView* links_;     // what launched it, and what it launched
  QTableWidget* table_;  // some dozens of rows: one slice's own fields
};

}  // namespace redline::viewer
