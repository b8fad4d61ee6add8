// Rows of figures on the screen: what the tables and the hits of a search have in common.
#pragma once

#include <QTableView>
#include <functional>
#include <set>

#include "viewer/models/table.h"

namespace redline::viewer {

/// Whether the key is a letter or sign without Ctrl or Alt. Such keys always belong to the
/// timeline; a table that has the focus would otherwise search for a row that begins with the
/// letter.
[[nodiscard]] bool is_plain_letter(const QKeyEvent& event);

/// Puts rows on the clipboard, for a spreadsheet; an empty table leaves it as it is.
void copy_table(const Table& rows);
/// Ctrl + C and the right mouse button then call `copy`.
void add_copy_action(QTableView& view, const std::function<void()>& copy);

/// What all tables have in common: their look, columns as wide as the texts of the first rows, the
/// names at the left that stay when the table is scrolled sideways, copying and export.
class RowsView : public QTableView {
  Q_OBJECT

 public:
  explicit RowsView(const QString& title);

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

}  // namespace redline::viewer
