// The Selection tab: what lies in the selected area, by name.
#pragma once

#include <QLabel>
#include <QWidget>

#include "viewer/models/latest_task.h"
#include "viewer/widgets/table_view.h"
#include "viewer/widgets/view_state.h"

namespace redline::viewer {

class SelectionPane : public QWidget {
  Q_OBJECT

 public:
  explicit SelectionPane(ViewState& state, QWidget* parent = nullptr);

  [[nodiscard]] TableView& table() { return *table_; }
  void wait() { task_.wait(); }

 signals:
  void shown();  ///< the sums of the area that the state has

 private:
  void summarize();
  void show_summary(const AreaSummary& summary);

  ViewState& state_;
  QLabel* length_;
  QLabel* figures_;
  TableView* table_;
  LatestTask task_;
};

}  // namespace redline::viewer
