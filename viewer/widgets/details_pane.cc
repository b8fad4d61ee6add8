#include "viewer/widgets/details_pane.h"

#include <QHeaderView>
#include <QVBoxLayout>

#include "viewer/models/details.h"
#include "viewer/models/format.h"
#include "viewer/widgets/qt_text.h"

namespace redline::viewer {
namespace {

constexpr int kMostLinkRows = 6;  // the rest scrolls

QTableWidget* make_table() {
  auto* table = new QTableWidget(0, 2);
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
  name->setToolTip(text(field.name));
  auto* value = new QTableWidgetItem(text(field.value));
  value->setTextAlignment(Qt::AlignTop | Qt::AlignLeft);
  value->setToolTip(text(field.value).left(1000));
  table.setItem(row, 0, name);
  table.setItem(row, 1, value);
}

}  // namespace

DetailsPane::DetailsPane(ViewState& state, QWidget* parent)
    : QWidget(parent),
      state_(state),
      name_(new QLabel),
      duration_(new QLabel),
      links_(new TableView(tr("Linked slices"))),
      table_(make_table()) {
  name_->setWordWrap(true);
  name_->setMinimumWidth(1);  // else its longest word widens the pane
  name_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  name_->setTextFormat(Qt::PlainText);
  name_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  name_->setFont(ui_font(13, QFont::DemiBold));
  duration_->setFont(ui_font(20, QFont::Bold));
  table_->setAccessibleName(tr("Details of the selected slice"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 14, 0, 8);
  column->setSpacing(6);
  column->addWidget(name_);
  column->addWidget(duration_);
  column->addSpacing(6);
  column->addWidget(links_);
  column->addSpacing(6);
  column->addWidget(table_, 1);
  column->addStretch(0);
  for (QLabel* label : {name_, duration_}) label->setContentsMargins(14, 0, 8, 0);
  setFocusProxy(table_);
  links_->horizontalHeader()->hide();
  connect(links_, &TableView::slice_chosen, &state, &ViewState::go_to, Qt::QueuedConnection);
  connect(&state, &ViewState::selection_changed, this, &DetailsPane::show_selection);
  connect(&state, &ViewState::theme_changed, this, &DetailsPane::show_selection);
  show_selection();
}

void DetailsPane::show_selection() {
  table_->setRowCount(0);
  const SliceRef ref = state_.selection();
  table_->setVisible(static_cast<bool>(ref));
  duration_->setVisible(static_cast<bool>(ref));
  show_links();
  if (!ref) {
    name_->setText(tr("Click a slice to see its details."));
    return;
  }
  const SliceDetails details = slice_details(state_.session(), ref);
  QString name = text(details.name).left(600);
  // Kernel names are one word of hundreds of letters: let them break.
  name.replace(QLatin1String("::"), QStringLiteral("::\u200b"))
      .replace(QLatin1Char('_'), QStringLiteral("_\u200b"))
      .replace(QLatin1Char(','), QStringLiteral(",\u200b"))
      .replace(QLatin1Char('<'), QStringLiteral("<\u200b"));
  name_->setText(name);
  duration_->setText(text(format_duration(state_.session().range_of(ref).span_ns())));
  const QColor muted = state_.theme().muted;
  for (const DetailField& field : details.fields) add_row(*table_, field, muted);
  for (const DetailField& field : details.arguments) add_row(*table_, field, muted);
}

void DetailsPane::show_links() {
  links_->setVisible(!state_.links().empty());
  Table table = link_rows(state_.session(), state_.links(), state_.selection());
  const int rows = std::min<int>(static_cast<int>(table.rows.size()), kMostLinkRows);
  links_->setFixedHeight(rows * links_->verticalHeader()->defaultSectionSize() + 2);
  links_->show_table(std::move(table), -1);
}

}  // namespace redline::viewer
