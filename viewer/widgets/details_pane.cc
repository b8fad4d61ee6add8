#include "viewer/widgets/panes.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include "viewer/models/details.h"
#include "viewer/models/format.h"
#include "viewer/models/tooltip.h"
#include "viewer/widgets/controls.h"

namespace redline::viewer {
namespace {

constexpr int kMostLinkRows = 8;  // with more rows the table scrolls
constexpr int kCellPadding = 16;  // must equal the style sheet's

// Lets kernel names, lists and paths break, because each is one word of hundreds of letters.
QString breakable(QString words, std::initializer_list<const char*> places) {
  for (const char* after : places) {
    words.replace(QLatin1String(after), QLatin1String(after) + QChar(0x200b));
  }
  return words;
}

Table fields_table() { return {"Details", {{"Field", Unit::kText}, {"Value", Unit::kText}}, {}}; }

void add_field(Table& table, const std::string& name, const std::string& value) {
  table.rows.push_back({{name, value}, {}, {}});
}

/// Wraps long values and makes their rows as high as needed.
class WrappingDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  // Qt measures the text without the padding that the style sheet gives it.
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                               const QModelIndex& index) const override {
    QStyleOptionViewItem inner = option;
    inner.rect.setWidth(option.rect.width() - kCellPadding);
    return QStyledItemDelegate::sizeHint(inner, index);
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    option->text = breakable(option->text, {",", "/"});
  }
};

/// Copies what is selected, as the other tables do. It is none of them, because its rows wrap.
class FieldsTable : public QTableWidget {
 public:
  FieldsTable() : QTableWidget(0, 2) {
    setContextMenuPolicy(Qt::ActionsContextMenu);
    add_copy_action(*this, [this] { copy_table(selected()); });
  }

 protected:
  void keyPressEvent(QKeyEvent* event) override {
    is_plain_letter(*event) ? event->ignore() : QTableWidget::keyPressEvent(event);
  }

 private:
  [[nodiscard]] Table selected() const {
    Table fields = fields_table();
    for (const QModelIndex& index : selectionModel()->selectedRows()) {
      add_field(fields, item(index.row(), 0)->text().toStdString(),
                item(index.row(), 1)->text().toStdString());
    }
    return fields;
  }
};

QTableWidget* make_table() {
  auto* table = new FieldsTable;
  table->setItemDelegateForColumn(1, new WrappingDelegate(table));
  table->setHorizontalHeaderLabels({QObject::tr("Field"), QObject::tr("Value")});  // for readers
  table->horizontalHeader()->hide();
  table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  table->horizontalHeader()->setStretchLastSection(true);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(22);
  table->verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table->verticalHeader()->setMinimumSectionSize(18);
  table->setShowGrid(false);
  table->setWordWrap(true);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setTabKeyNavigation(false);
  return table;
}

void add_row(QTableWidget& table, const DetailField& field, const QColor& muted) {
  const int row = table.rowCount();
  table.insertRow(row);
  auto* name = new QTableWidgetItem(text(field.name));
  name->setForeground(muted);
  name->setTextAlignment(Qt::AlignTop | Qt::AlignLeft);
  name->setToolTip(tooltip_of(text(field.name)));
  auto* value = new QTableWidgetItem(text(field.value));
  value->setTextAlignment(Qt::AlignTop | Qt::AlignLeft);
  value->setToolTip(tooltip_of(text(field.value).left(1000)));
  table.setItem(row, 0, name);
  table.setItem(row, 1, value);
}

}  // namespace

DetailsPane::DetailsPane(ViewState& state)
    : Pane(tr("Details")),
      state_(state),
      hint_(new QLabel(tr("Click a slice to see its details."))),
      name_(new QLabel),
      duration_(new QLabel),
      links_(new TableView(tr("Linked slices"))),
      table_(make_table()) {
  name_->setWordWrap(true);
  name_->setMinimumWidth(1);  // otherwise its longest word would widen the pane
  name_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  name_->setTextFormat(Qt::PlainText);
  name_->setFont(ui_font(13, QFont::DemiBold));
  duration_->setFont(ui_font(20, QFont::Bold));
  hint_->setProperty("muted", true);
  hint_->setWordWrap(true);
  table_->setAccessibleName(tr("Details of the selected slice"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 14, 0, 8);
  column->setSpacing(6);
  column->addWidget(hint_);
  column->addWidget(name_);
  column->addWidget(duration_);
  column->addSpacing(6);
  column->addWidget(links_);
  column->addSpacing(6);
  column->addWidget(table_, 1);
  column->addStretch(0);
  for (QLabel* label : {hint_, name_, duration_}) label->setContentsMargins(14, 0, 8, 0);
  setFocusProxy(table_);
  // The label's own way to copy would take its marks of where a name may break, too.
  name_->setContextMenuPolicy(Qt::ActionsContextMenu);
  for (QWidget* part : {static_cast<QWidget*>(name_), static_cast<QWidget*>(table_)}) {
    auto* all = new QAction(tr("Copy all details of the slice"), part);
    connect(all, &QAction::triggered, this, [this] { copy_table(exported()); });
    part->addAction(all);
  }
  links_->horizontalHeader()->hide();
  links_->cut_names_first();
  connect(links_, &TableView::slice_chosen, &state, &ViewState::go_to, Qt::QueuedConnection);
  connect(&state, &ViewState::selection_changed, this, &DetailsPane::show_selection);
  connect(&state, &ViewState::selection_changed, this, [this] {
    if (state_.selection()) emit wanted();
  });
  connect(&state, &ViewState::theme_changed, this, &DetailsPane::show_selection);
  show_selection();
}

void DetailsPane::show_selection() {
  table_->setRowCount(0);
  const SliceRef ref = state_.selection();
  table_->setVisible(static_cast<bool>(ref));
  duration_->setVisible(static_cast<bool>(ref));
  show_links();
  name_->setVisible(static_cast<bool>(ref));
  hint_->setVisible(!ref);
  if (!ref) return;
  const SliceDetails details = slice_details(state_.session(), ref);
  name_->setText(breakable(text(details.name).left(600), {"::", "_", ",", "<"}));
  duration_->setText(text(format_duration(state_.session().range_of(ref).span_ns())));
  const QColor muted = state_.theme().muted;
  for (const DetailField& field : details.fields) add_row(*table_, field, muted);
  for (const DetailField& field : details.arguments) add_row(*table_, field, muted);
}

Table DetailsPane::exported() const {
  Table table = fields_table();
  const SliceRef ref = state_.selection();
  if (!ref) return table;
  const SliceDetails details = slice_details(state_.session(), ref);
  add_field(table, "name", details.name);
  for (const TableRow& link : links_->table().rows) {
    add_field(table, link.values[1].text(), link.values[0].text());
  }
  for (const auto* fields : {&details.fields, &details.arguments}) {
    for (const DetailField& field : *fields) add_field(table, field.name, field.value);
  }
  return table;
}

void DetailsPane::show_links() {
  Table table = link_rows(state_.session(), state_.links(), state_.selection());
  links_->setVisible(!table.rows.empty());
  const int rows = std::min<int>(static_cast<int>(table.rows.size()), kMostLinkRows);
  links_->setFixedHeight(rows * links_->verticalHeader()->defaultSectionSize() + 2);
  links_->show_table(std::move(table), -1);
}

}  // namespace redline::viewer
