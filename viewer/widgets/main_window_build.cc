// The parts of the window and where they stand.
#include <QHBoxLayout>
#include <QMenu>
#include <QPushButton>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

#include "viewer/widgets/details_pane.h"
#include "viewer/widgets/help_dialog.h"
#include "viewer/widgets/main_window.h"
#include "viewer/widgets/overview_pane.h"
#include "viewer/widgets/selection_pane.h"
#include "viewer/widgets/tables_pane.h"

namespace redline::viewer {
namespace {

constexpr int kPaneWidth = 360;
constexpr int kTablesHeight = 220;

QLabel* muted_label() {
  auto* label = new QLabel;
  label->setProperty("muted", true);
  label->setTextFormat(Qt::PlainText);
  return label;
}

QFrame* separator(const Theme& theme) {
  auto* line = new QFrame;
  line->setFixedHeight(1);
  line->setStyleSheet(QStringLiteral("background: %1;").arg(theme.separator.name()));
  return line;
}

}  // namespace

MainWindow::MainWindow(const Theme& theme) : state_(theme) {
  setWindowTitle(tr("Redline"));
  setStyleSheet(theme.style_sheet());
  setAcceptDrops(true);

  pages_ = new QStackedWidget;
  pages_->addWidget(make_message_page());
  pages_->addWidget(make_work_area());
  auto* all = new QWidget;
  auto* column = new QVBoxLayout(all);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(make_top_bar());
  column->addWidget(separator(theme));
  column->addWidget(pages_, 1);
  column->addWidget(separator(theme));
  column->addWidget(make_status_bar());
  setCentralWidget(all);
  connect_state();
  show_message(tr("Open a trace, or drop files or a folder of ranks here."), false);
}

QWidget* MainWindow::make_top_bar() {
  auto* bar = new QWidget;
  bar->setFixedHeight(40);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(16, 0, 12, 0);
  row->setSpacing(4);
  auto* product = new QLabel(tr("Redline"));
  product->setFont(ui_font(14, QFont::Bold));
  name_ = muted_label();
  name_->setMinimumWidth(1);  // else a long name widens the window
  search_ = new SearchField(state_);
  auto* open = new QPushButton(tr("Open"));
  auto* help = new QPushButton(tr("?"));
  help->setToolTip(tr("Keys"));
  row->addWidget(product);
  row->addSpacing(14);
  row->addWidget(name_, 1);
  row->addWidget(search_, 3);
  row->addStretch(1);
  auto* compare = new QPushButton(tr("Compare"));
  compare->setToolTip(tr("Compare what is open with an earlier run"));
  connect(compare, &QPushButton::clicked, this, &MainWindow::choose_before);
  auto* save = new QPushButton(tr("Export"));
  save->setMenu(make_export_menu());
  row->addWidget(open);
  row->addWidget(compare);
  row->addWidget(save);
  row->addWidget(help);
  connect(open, &QPushButton::clicked, this, &MainWindow::choose_files);
  connect(help, &QPushButton::clicked, this, [this] { HelpDialog(this).exec(); });
  connect(search_, &SearchField::left, this, [this] { timeline_->lanes().setFocus(); });
  return bar;
}

QMenu* MainWindow::make_export_menu() {
  auto* menu = new QMenu(this);
  const auto add = [&](const QString& text, const char* suffix, ExportKind kind) {
    connect(menu->addAction(text), &QAction::triggered, this,
            [this, suffix, kind] { choose_export(QLatin1String(suffix), kind); });
  };
  add(tr("Table as CSV …"), "csv", ExportKind::kCsv);
  add(tr("Table as JSON …"), "json", ExportKind::kJson);
  menu->addSeparator();
  add(tr("Window as PNG …"), "png", ExportKind::kPng);
  add(tr("Timeline as SVG …"), "svg", ExportKind::kSvg);
  menu->addSeparator();
  connect(menu->addAction(tr("Save the view beside the trace (Ctrl + S)")), &QAction::triggered,
          this, &MainWindow::save_view);
  return menu;
}

QWidget* MainWindow::make_message_page() {
  auto* page = new QWidget;
  auto* column = new QVBoxLayout(page);
  message_ = new QLabel;
  message_->setTextFormat(Qt::PlainText);
  message_->setWordWrap(true);
  message_->setAlignment(Qt::AlignCenter);
  message_->setFont(ui_font(14));
  progress_ = new QProgressBar;
  progress_->setRange(0, 1000);
  auto* cancel = new QPushButton(tr("Cancel"));
  connect(cancel, &QPushButton::clicked, this, &MainWindow::cancel_load);
  loading_controls_ = new QWidget;
  loading_controls_->setFixedWidth(420);
  auto* controls = new QHBoxLayout(loading_controls_);
  controls->addWidget(progress_, 1);
  controls->addWidget(cancel);
  column->addStretch(1);
  column->addWidget(message_);
  column->addWidget(loading_controls_, 0, Qt::AlignCenter);
  column->addStretch(1);
  return page;
}

QWidget* MainWindow::make_work_area() {
  timeline_ = new Timeline(state_);
  tables_ = new TablesPane(state_);
  auto* left = new QSplitter(Qt::Vertical);
  left->setHandleWidth(1);
  left->addWidget(timeline_);
  left->addWidget(tables_);
  left->setStretchFactor(0, 1);
  left->setSizes({800, kTablesHeight});

  panes_ = new QTabWidget;
  panes_->setDocumentMode(true);
  overview_ = new OverviewPane(state_.theme());
  details_ = new DetailsPane(state_);
  panes_->addTab(overview_, tr("Overview"));
  selection_ = new SelectionPane(state_);
  panes_->addTab(details_, tr("Details"));
  panes_->addTab(selection_, tr("Selection"));
  auto* area = new QSplitter(Qt::Horizontal);
  area->setHandleWidth(1);
  area->addWidget(left);
  area->addWidget(panes_);
  area->setStretchFactor(0, 1);
  area->setSizes({1240, kPaneWidth});
  connect(tables_, &TablesPane::name_chosen, this, &MainWindow::choose_name);
  connect(overview_, &OverviewPane::evidence_chosen, this, &MainWindow::show_evidence);
  return area;
}

QWidget* MainWindow::make_status_bar() {
  auto* bar = new QWidget;
  bar->setFixedHeight(24);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(16, 0, 16, 0);
  row->setSpacing(24);
  loaded_text_ = muted_label();
  selection_text_ = muted_label();
  range_text_ = muted_label();
  for (QLabel* label : {loaded_text_, selection_text_, range_text_}) label->setFont(ui_font(11));
  // A long name must not widen the window.
  selection_text_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  selection_text_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  row->addWidget(loaded_text_);
  row->addWidget(selection_text_, 1);
  row->addWidget(range_text_);
  return bar;
}

}  // namespace redline::viewer
