// The tables under the timeline. A click on a row finds its longest slice in the lanes, and the
// name becomes the search, so that Enter goes on to the next one.
#pragma once

#include <QTabWidget>

#include "viewer/models/name_table.h"

class QTableView;

namespace redline::viewer {

class TablesPane : public QTabWidget {
  Q_OBJECT

 public:
  explicit TablesPane(QWidget* parent = nullptr);

  void show_report(const trace::Report& report);

 signals:
  void name_chosen(QString name);

 private:
  QTableView* add_table(NameTable& table, const QString& title);

  NameTable kernels_{TableKind::kKernels};
  NameTable operators_{TableKind::kOperators};
  QTableView* operator_view_ = nullptr;
};

}  // namespace redline::viewer
