// A Table on the screen: a click on a title sorts it, a row leads to its slice.
#pragma once

#include <QHeaderView>
#include <QTableView>
#include <functional>
#include <set>

#include "viewer/models/table_model.h"
#include "viewer/widgets/theme.h"

namespace redline::viewer {

/// Whether the key is a letter or sign without Ctrl or Alt. Such keys always belong to the
/// timeline; a table that has the focus would otherwise search for a row that begins with the
/// letter.
[[nodiscard]] bool is_plain_letter(const QKeyEvent& event);

/// Puts rows on the clipboard, for a spreadsheet; an empty table leaves it as it is.
void copy_table(const Table& rows);
/// Ctrl + C and the right mouse button then call `copy`.
void add_copy_action(QTableView& view, const std::function<void()>& copy);

/// The titles over a table. Qt's Fusion style keeps a place for the sort mark beside every title,
/// so that titles and figures do not line up, and its mark points up for "largest first".
class TableHeader : public QHeaderView {
  Q_OBJECT

 public:
  /// Pixels left and right of the words, the same in titles and in cells.
  static constexpr int kLeft = 14;
  static constexpr int kRight = 8;

  explicit TableHeader(QWidget* parent = nullptr);

  /// Pixels of the first column that stay at the left while the others scroll under them.
  void set_frozen(int width) { frozen_ = width; }

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void paintSection(QPainter* painter, const QRect& rect, int column) const override;

 private:
  /// A point of the frozen title, where its column would be without that; others as they are.
  [[nodiscard]] QPoint place_of(QPoint at) const;

  int frozen_ = 0;
};

/// What all tables have in common: their look, columns as wide as the texts of the first rows, the
/// names at the left that stay when the table is scrolled sideways, copying and export.
class RowsView : public QTableView {
  Q_OBJECT

 public:
  explicit RowsView(const QString& title, QWidget* parent = nullptr);

  /// Takes what room is left: the last column, else the first as far as its names reach.
  void stretch_last_column() { stretches_last_ = true; }
  /// In a narrow place the names are cut, not the words beside them.
  void cut_names_first() { good_name_width_ = kTightNameWidth; }
  /// All rows that are shown.
  [[nodiscard]] virtual Table all_rows() const = 0;
  /// Of them the selected ones, from the top.
  [[nodiscard]] Table selected_rows() const;
  /// Puts the selected rows on the clipboard, for a spreadsheet.
  void copy_rows() const;

 signals:
  void export_wanted();

 protected:
  [[nodiscard]] virtual Table rows_at(const std::set<int>& rows) const = 0;
  /// Whether the click that is under way chooses a row, and not several.
  [[nodiscard]] static bool is_choice();
  bool viewportEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void fit_columns();

 private:
  [[nodiscard]] int widest_of(int column) const;
  [[nodiscard]] bool has_words(int column) const;
  [[nodiscard]] int wide_column() const;
  /// How much of the first column stays at the left now; 0: it is not scrolled away.
  [[nodiscard]] int frozen_width() const;
  void freeze();
  void cut_words(int missing);
  void fit_wide_column();
  void end_with_a_whole_column();

  static constexpr int kGoodNameWidth = 230;   ///< for it other words are cut
  static constexpr int kTightNameWidth = 136;  ///< if that makes room for one more column

  int good_name_width_ = kGoodNameWidth;
  /// More than this is of no use to the wide column; 0 before columns were fitted.
  int ample_width_ = 0;
  bool stretches_last_ = false;
};

class TableView : public RowsView {
  Q_OBJECT

 public:
  explicit TableView(const QString& title, QWidget* parent = nullptr);

  /// Sorted by `sort_column`, largest first, until the user sorts otherwise; -1: as it comes.
  /// Columns without a value are not shown.
  void show_table(Table table, int sort_column);
  /// Newer figures of the rows that are shown: the chosen ones, the order and the widths stay.
  void update_table(Table table);
  /// Shows only the rows that have `text` in some value.
  void set_filter(const std::string& text);
  [[nodiscard]] const std::string& filter() const { return filter_; }
  /// The rows that are shown.
  [[nodiscard]] const Table& table() const { return model_.table(); }
  [[nodiscard]] Table all_rows() const override { return model_.table(); }
  /// The row of this name, if there is one.
  void select_name(const std::string& name);
  /// The first row that `is_it` is true of, if there is one.
  void select_row(const std::function<bool(const TableRow& row)>& is_it);

 signals:
  void slice_chosen(redline::viewer::SliceRef ref);
  void name_chosen(QString name);
  void time_chosen(redline::viewer::TimeRef time);

 protected:
  [[nodiscard]] Table rows_at(const std::set<int>& rows) const override;

 private:
  void choose(const QModelIndex& index);
  void show_rows();

  TableModel model_;
  Table all_;
  std::string filter_;
};

/// The hits of a search; sorting ten million of them does not hold up the window.
class HitsView : public RowsView {
  Q_OBJECT

 public:
  explicit HitsView(const QString& title, QWidget* parent = nullptr);

  /// Shows hits, which must have the longest first.
  void show_hits(std::shared_ptr<const Session> session, Hits hits);
  [[nodiscard]] HitsModel& hits() { return model_; }
  [[nodiscard]] const HitsModel& hits() const { return model_; }
  [[nodiscard]] Table all_rows() const override { return model_.table(); }

 signals:
  void slice_chosen(redline::viewer::SliceRef ref);

 protected:
  [[nodiscard]] Table rows_at(const std::set<int>& rows) const override;

 private:
  HitsModel model_;
};

}  // namespace redline::viewer
