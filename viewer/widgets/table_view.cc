#include "viewer/widgets/table_view.h"

#include <QKeyEvent>
#include <QPainter>
#include <algorithm>
#include <utility>

namespace redline::viewer {
namespace {

constexpr int kMargin = TableHeader::kLeft + TableHeader::kRight + 2;
constexpr int kLeastWidth = 52;
constexpr int kMostWidth = 220;
constexpr int kLeastNameWidth = 150;
constexpr int kTightNameWidth = 136;  // width of names if that makes room for one more column
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

RowsView::RowsView(const QString& title, QWidget* parent) : QTableView(parent) {
  setAccessibleName(title);
  setShowGrid(false);
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setSelectionMode(QAbstractItemView::SingleSelection);
  setTextElideMode(Qt::ElideRight);
  setWordWrap(false);
  setTabKeyNavigation(false);  // the arrows move in the table, Tab leaves it
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setHorizontalHeader(new TableHeader(this));
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(20);
  verticalHeader()->setMinimumSectionSize(20);
}

TableView::TableView(const QString& title, QWidget* parent) : RowsView(title, parent) {
  setModel(&model_);
  connect(this, &QTableView::activated, this, &TableView::choose);
  connect(this, &QTableView::clicked, this, &TableView::choose);
}

HitsView::HitsView(const QString& title, QWidget* parent) : RowsView(title, parent) {
  setModel(&model_);
  const auto choose = [this](const QModelIndex& index) {
    emit slice_chosen(model_.hit(index.row()));
  };
  connect(this, &QTableView::activated, this, choose);
  connect(this, &QTableView::clicked, this, choose);
}

void HitsView::show_hits(std::shared_ptr<const Session> session, Hits hits) {
  setSortingEnabled(false);  // otherwise the rows would be sorted again at once
  model_.set_hits(std::move(session), std::move(hits));
  horizontalHeader()->setSortIndicator(1, Qt::DescendingOrder);
  horizontalHeader()->setSortIndicatorShown(true);
  horizontalHeader()->setSectionsClickable(true);
  connect(horizontalHeader(), &QHeaderView::sortIndicatorChanged, &model_, &HitsModel::sort,
          Qt::UniqueConnection);
  fit_columns();
}

void TableView::show_table(Table table, int sort_column) {
  const bool was_empty = all_.rows.empty();
  const bool is_new = was_empty || table.columns.size() != all_.columns.size();
  if (is_new) model_.sort(-1, Qt::DescendingOrder);
  all_ = std::move(table);
  show_rows();
  fit_columns();  // other rows may be wider
  if (!is_new) return;
  // A table that comes in its own order keeps it until the user clicks a title.
  horizontalHeader()->setSortIndicator(sort_column, Qt::DescendingOrder);
  setSortingEnabled(true);
}

void TableView::set_filter(const std::string& text) {
  filter_ = text;
  show_rows();
}

void TableView::show_rows() {
  model_.set_table(filter_.empty() ? all_ : rows_with(all_, filter_));
  for (int c = 0; c < model_.columnCount(); ++c) {
    setColumnHidden(c, !has_values(all_, static_cast<size_t>(c)));
  }
}

void RowsView::keyPressEvent(QKeyEvent* event) {
  is_plain_letter(*event) ? event->ignore() : QTableView::keyPressEvent(event);
}

// A table that was filled while it was hidden did not know its width.
void RowsView::showEvent(QShowEvent* event) {
  QTableView::showEvent(event);
  if (std::exchange(is_fresh_, false)) fit_columns();
}

// The column of names or sentences takes the room that is left. If there is too little, words are
// cut first (a tooltip shows them whole); only then the table scrolls.
void RowsView::fit_columns() {
  if (!model() || model()->columnCount() == 0) return;
  ensurePolished();  // otherwise it does not have its final font yet
  const int wide = wide_column();
  int missing = kLeastNameWidth - viewport()->width();
  for (int c = 0; c < model()->columnCount(); ++c) {
    if (c == wide || isColumnHidden(c)) continue;
    const int width = std::clamp(widest_of(c) + kMargin, kLeastWidth, kMostWidth);
    horizontalHeader()->resizeSection(c, width);
    missing += width;
  }
  for (int c = 0; c < model()->columnCount() && missing > 0; ++c) {
    if (c == wide || isColumnHidden(c) || !has_words(c)) continue;
    const int width = columnWidth(c);
    const int given = std::clamp(width - kLeastTextWidth, 0, missing);
    horizontalHeader()->resizeSection(c, width - given);
    missing -= given;
  }
  ample_width_ =
      stretches_last_ ? QWIDGETSIZE_MAX : std::max(widest_of(wide) + kMargin, kAmpleNameWidth);
  horizontalHeader()->setSectionResizeMode(wide, QHeaderView::Interactive);
  horizontalHeader()->resizeSection(wide, kLeastNameWidth);
  fit_wide_column();
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

void TableView::select_name(const std::string& name) {
  select_row([&name](const TableRow& row) { return row.name == name; });
}

void TableView::select_row(const std::function<bool(const TableRow& row)>& is_it) {
  clearSelection();
  for (int row = 0; row < model_.rowCount(); ++row) {
    if (!is_it(model_.row(row))) continue;
    selectRow(row);
    scrollTo(model_.index(row, 0));
    return;
  }
}

void TableView::choose(const QModelIndex& index) {
  const TableRow& row = model_.row(index.row());
  if (row.slice) {
    emit slice_chosen(row.slice);
  } else if (!row.name.empty()) {
    emit name_chosen(QString::fromStdString(row.name));
  } else if (row.time) {
    emit time_chosen(*row.time);
  }
}

namespace {

constexpr double kMark = 3.5;  // half the width of the sort mark

void draw_sort_mark(QPainter& painter, QPointF middle, bool ascending) {
  const double up = ascending ? -1 : 1;
  const QPointF corners[] = {middle + QPointF(-kMark, -up * kMark / 2),
                             middle + QPointF(kMark, -up * kMark / 2),
                             middle + QPointF(0, up * kMark / 2)};
  painter.setRenderHint(QPainter::Antialiasing);
  painter.drawPolygon(corners, 3);
}

}  // namespace

TableHeader::TableHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
  setHighlightSections(false);
  setSectionsClickable(true);
  setMinimumSectionSize(40);
  setMinimumHeight(26);
}

void TableHeader::paintSection(QPainter* painter, const QRect& rect, int column) const {
  const QVariant title = model()->headerData(column, orientation(), Qt::DisplayRole);
  const QVariant alignment = model()->headerData(column, orientation(), Qt::TextAlignmentRole);
  const QRect words = rect.adjusted(kLeft, 0, -kRight, 0);
  const QString text = fontMetrics().elidedText(title.toString(), Qt::ElideRight, words.width());
  painter->save();
  painter->fillRect(rect, palette().color(QPalette::Window));
  painter->setFont(font());
  painter->setPen(palette().color(QPalette::WindowText));
  painter->drawText(words, alignment.toInt(), text);
  if (isSortIndicatorShown() && sortIndicatorSection() == column) {
    const bool left = alignment.toInt() & Qt::AlignLeft;
    const int width = fontMetrics().horizontalAdvance(text);
    const double x = left ? words.left() + width + 8 : words.right() - width - 7;
    painter->setBrush(painter->pen().color());
    painter->setPen(Qt::NoPen);
    draw_sort_mark(*painter, {x, rect.center().y() + 0.5},
                   sortIndicatorOrder() == Qt::AscendingOrder);
  }
  painter->restore();
}

}  // namespace redline::viewer
