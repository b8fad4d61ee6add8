#include "viewer/widgets/rows_view.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include "viewer/widgets/table_header.h"

namespace redline::viewer {
namespace {

constexpr int kMargin = TableHeader::kLeft + TableHeader::kRight + 2;
constexpr int kLeastWidth = 52;
constexpr int kMostWidth = 220;
constexpr int kLeastNameWidth = 150;
constexpr int kAmpleNameWidth = 480;
// If the table is wider than its place, because figures matter more.
constexpr int kLeastTextWidth = 84;
constexpr int kLookedAt = 100;  // so many rows decide the width of a column

}  // namespace

bool is_plain_letter(const QKeyEvent& event) {
  const bool plain = !(event.modifiers() & (Qt::ControlModifier | Qt::AltModifier));
  const QString letter = event.text();
  return plain && event.key() != Qt::Key_Space && !letter.isEmpty() && letter[0].isPrint();
}

void copy_table(const Table& rows) {
  if (rows.rows.empty()) return;
  QGuiApplication::clipboard()->setText(QString::fromStdString(table_tsv(rows)));
}

void add_copy_action(QTableView& view, const std::function<void()>& copy) {
  auto* action = new QAction(QObject::tr("Copy the selected rows"), &view);
  action->setShortcut(QKeySequence::Copy);
  action->setShortcutContext(Qt::WidgetShortcut);
  QObject::connect(action, &QAction::triggered, &view, copy);
  view.addAction(action);
}

RowsView::RowsView(const QString& title) {
  setAccessibleName(title);
  setShowGrid(false);
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setSelectionMode(QAbstractItemView::ExtendedSelection);
  setTextElideMode(Qt::ElideRight);
  setWordWrap(false);
  setTabKeyNavigation(false);  // the arrows move in the table, Tab leaves it
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setHorizontalHeader(new TableHeader(this));
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(20);
  verticalHeader()->setMinimumSectionSize(20);
  connect(horizontalScrollBar(), &QScrollBar::valueChanged, this, &RowsView::freeze);
  connect(horizontalHeader(), &QHeaderView::sectionResized, this, &RowsView::freeze);
  setContextMenuPolicy(Qt::ActionsContextMenu);
  add_copy_action(*this, [this] { copy_rows(); });
  auto* save = new QAction(tr("Export the table as CSV …"), this);
  connect(save, &QAction::triggered, this, &RowsView::export_wanted);
  addAction(save);
}

// A click that adds rows to those to copy must not move the lanes.
bool RowsView::is_choice() {
  return !(QGuiApplication::keyboardModifiers() & (Qt::ControlModifier | Qt::ShiftModifier));
}

Table RowsView::selected_rows() const {
  std::set<int> rows;
  for (const QModelIndex& index : selectionModel()->selectedRows()) rows.insert(index.row());
  return rows_at(rows);
}

void RowsView::copy_rows() const { copy_table(selected_rows()); }

int RowsView::frozen_width() const {
  const int width = isColumnHidden(0) ? 0 : columnWidth(0);
  const bool leaves_room = width < viewport()->width() * 2 / 3;
  return !stretches_last_ && leaves_room && horizontalScrollBar()->value() > 0 ? width : 0;
}

// Qt moves the picture of what is scrolled, and the frozen column with it.
void RowsView::freeze() {
  static_cast<TableHeader*>(horizontalHeader())->set_frozen(frozen_width());
  horizontalHeader()->viewport()->update();
  viewport()->update();
}

// Paints the first column once more at the left. Below it are other cells of the same rows, so that
// a click chooses the right row.
void RowsView::paintEvent(QPaintEvent* event) {
  QTableView::paintEvent(event);
  const int width = frozen_width();
  if (width == 0 || !model()) return;
  QPainter painter(viewport());
  QStyleOptionViewItem option;
  initViewItemOption(&option);
  for (int row = std::max(rowAt(0), 0); row < model()->rowCount(); ++row) {
    const int top = rowViewportPosition(row);
    if (top > viewport()->height()) break;
    const QModelIndex index = model()->index(row, 0);
    const bool is_selected = selectionModel()->isSelected(index);
    option.rect = QRect(0, top, width, rowHeight(row));
    option.state.setFlag(QStyle::State_Selected, is_selected);
    painter.fillRect(option.rect, palette().color(QPalette::Base));
    style()->drawPrimitive(QStyle::PE_PanelItemViewRow, &option, &painter, this);
    itemDelegate()->paint(&painter, option, index);
  }
  QColor line = palette().color(QPalette::Text);
  line.setAlpha(48);
  painter.fillRect(QRect(width - 1, 0, 1, viewport()->height()), line);
}

// Under the mouse is the name, not the cell that it covers.
bool RowsView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int row = rowAt(help->pos().y());
    if (row >= 0 && help->pos().x() < frozen_width()) {
      QToolTip::showText(help->globalPos(), model()->index(row, 0).data(Qt::ToolTipRole).toString(),
                         viewport());
      return true;
    }
  }
  return QTableView::viewportEvent(event);
}

void RowsView::keyPressEvent(QKeyEvent* event) {
  is_plain_letter(*event) ? event->ignore() : QTableView::keyPressEvent(event);
}

// A table that was filled while it was hidden did not know its width, nor the window's now.
void RowsView::showEvent(QShowEvent* event) {
  QTableView::showEvent(event);
  fit_columns();
}

// The column of names or sentences takes the room that is left. If there is too little, words are
// cut first (a tooltip shows them whole); only then the table scrolls.
void RowsView::fit_columns() {
  if (!model() || model()->columnCount() == 0) return;
  ensurePolished();  // otherwise it does not have its final font yet
  const int wide = wide_column();
  int missing = std::min(good_name_width_, widest_of(wide) + kMargin) - viewport()->width();
  for (int c = 0; c < model()->columnCount(); ++c) {
    if (c == wide || isColumnHidden(c)) continue;
    const int width = std::clamp(widest_of(c) + kMargin, kLeastWidth, kMostWidth);
    horizontalHeader()->resizeSection(c, width);
    missing += width;
  }
  cut_words(missing);
  ample_width_ =
      stretches_last_ ? QWIDGETSIZE_MAX : std::max(widest_of(wide) + kMargin, kAmpleNameWidth);
  horizontalHeader()->setSectionResizeMode(wide, QHeaderView::Interactive);
  horizontalHeader()->resizeSection(wide, kLeastNameWidth);
  fit_wide_column();
}

// Takes up to this many pixels from the columns of words, always from those that are widest.
void RowsView::cut_words(int missing) {
  std::vector<int> columns;
  for (int c = 0; c < model()->columnCount(); ++c) {
    if (c != wide_column() && !isColumnHidden(c) && has_words(c)) columns.push_back(c);
  }
  const auto is_wider = [this](int left, int right) {
    return columnWidth(left) > columnWidth(right);
  };
  while (missing > 0 && !columns.empty()) {
    std::stable_sort(columns.begin(), columns.end(), is_wider);
    const int widest = columnWidth(columns.front());
    if (widest <= kLeastTextWidth) return;
    const auto others = std::find_if(columns.begin(), columns.end(),
                                     [&](int c) { return columnWidth(c) < widest; });
    const int next = others == columns.end() ? 0 : columnWidth(*others);
    const int equal = static_cast<int>(others - columns.begin());
    const int cut =
        std::min(widest - std::max(next, kLeastTextWidth), (missing + equal - 1) / equal);
    for (auto c = columns.begin(); c != others; ++c) {
      horizontalHeader()->resizeSection(*c, widest - cut);
      missing -= cut;
    }
  }
}

// On a wide screen this keeps figures close to their names.
void RowsView::fit_wide_column() {
  if (ample_width_ == 0) return;
  const int wide = wide_column();
  int room = viewport()->width();
  for (int c = 0; c < model()->columnCount(); ++c) {
    if (c != wide && !isColumnHidden(c)) room -= columnWidth(c);
  }
  if (room < kLeastNameWidth) return end_with_a_whole_column();
  const bool is_ample = room > ample_width_;
  horizontalHeader()->setSectionResizeMode(
      wide, is_ample ? QHeaderView::Interactive : QHeaderView::Stretch);
  if (is_ample) horizontalHeader()->resizeSection(wide, ample_width_);
}

// A table that scrolls begins with whole columns; the wide column takes the rest.
void RowsView::end_with_a_whole_column() {
  int shown = 0;
  for (int c = 0; c < model()->columnCount(); ++c) {
    if (c == wide_column() || isColumnHidden(c)) continue;
    if (shown + columnWidth(c) + kTightNameWidth > viewport()->width()) break;
    shown += columnWidth(c);
  }
  horizontalHeader()->setSectionResizeMode(wide_column(), QHeaderView::Interactive);
  horizontalHeader()->resizeSection(wide_column(),
                                    std::max(kTightNameWidth, viewport()->width() - shown));
}

int RowsView::wide_column() const { return stretches_last_ ? model()->columnCount() - 1 : 0; }

void RowsView::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  fit_wide_column();
}

bool RowsView::has_words(int column) const {
  return model()->headerData(column, Qt::Horizontal, Qt::TextAlignmentRole).toInt() & Qt::AlignLeft;
}

int RowsView::widest_of(int column) const {
  const auto width_of = [this](const QVariant& text) {
    return fontMetrics().horizontalAdvance(text.toString());
  };
  int widest = width_of(model()->headerData(column, Qt::Horizontal, Qt::DisplayRole));
  for (int row = 0; row < std::min(model()->rowCount(), kLookedAt); ++row) {
    widest =
        std::max(widest, width_of(model()->data(model()->index(row, column), Qt::DisplayRole)));
  }
  return widest;
}

}  // namespace redline::viewer
