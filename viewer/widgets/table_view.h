// A Table on the screen: a click on a title sorts it, a row leads to its slice.
#pragma once

#include <QHeaderView>
#include <QTableView>

#include "viewer/models/table_model.h"
#include "viewer/widgets/theme.h"

namespace redline::viewer {

/// A letter or sign without Ctrl or Alt: the timeline's wherever the focus is, where tables would
/// look for a row that begins with it.
[[nodiscard]] bool is_plain_letter(const QKeyEvent& event);

/// The titles over a table. Qt's Fusion style keeps a place for the sort mark beside every title,
/// so that titles and figures do not line up, and its mark points up for "largest first".
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

/// The look of all tables, and columns as wide as what the first rows have to say.
class RowsView : public QTableView {
  Q_OBJECT

 public:
  explicit RowsView(const QString& title, QWidget* parent = nullptr);

  /// Takes what room is left: the last column, else the first as far as its names reach.
  void stretch_last_column() { stretches_last_ = true; }

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void fit_columns();

 private:
  [[nodiscard]] int widest_of(int column) const;
  [[nodiscard]] bool has_words(int column) const;
  [[nodiscard]] int wide_column() const;
  void fit_wide_column();
  void end_with_a_whole_column();

  int ample_width_ = 0;  ///< of the wide column, no more is of use; 0 before columns were fitted
  bool stretches_last_ = false;
  bool is_fresh_ = true;  ///< its columns were fitted before it was shown, if at all
};

class TableView : public RowsView {
  Q_OBJECT

 public:
  explicit TableView(const QString& title, QWidget* parent = nullptr);

  /// Sorted by `sort_column`, largest first, until the user sorts otherwise; -1: as it comes.
  /// Columns without a value are not shown.
  void show_table(Table table, int sort_column);
  [[nodiscard]] const Table& table() const { return model_.table(); }
  /// The row of this name, if there is one.
  void select_name(const std::string& name);

 signals:
  void slice_chosen(redline::viewer::SliceRef ref);
  void name_chosen(QString name);

 private:
  void choose(const QModelIndex& index);

  TableModel model_;
};

/// The hits of a search; sorting ten million of them does not hold up the window.
class HitsView : public RowsView {
  Q_OBJECT

 public:
  explicit HitsView(const QString& title, QWidget* parent = nullptr);

  /// The longest first.
  void show_hits(std::shared_ptr<const Session> session, Hits hits);
  [[nodiscard]] HitsModel& hits() { return model_; }
  [[nodiscard]] const HitsModel& hits() const { return model_; }

 signals:
  void slice_chosen(redline::viewer::SliceRef ref);

 private:
  HitsModel model_;
};

}  // namespace redline::viewer
