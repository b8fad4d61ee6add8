// Builds the parts of the window and places them.
#include <QActionGroup>
#include <QHBoxLayout>
#include <QMenu>
#include <QPushButton>
#include <QScreen>
#include <QShortcut>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/widgets/flame_pane.h"
#include "viewer/widgets/main_window.h"
#include "viewer/widgets/panes.h"
#include "viewer/widgets/place.h"
#include "viewer/widgets/popups.h"
#include "viewer/widgets/run_page.h"
#include "viewer/widgets/tables_pane.h"
#include "viewer/widgets/tuning_page.h"

namespace redline::viewer {
namespace {

constexpr int kPaneWidth = 360;
constexpr int kTablesHeight = 220;
constexpr int kRestWidth = 440;

ElidedLabel* muted_label() {
  auto* label = new ElidedLabel;
  label->setProperty("muted", true);
  return label;
}

QPushButton* link_button() {
  auto* button = new ElidedButton;
  button->setProperty("quiet", true);
  button->setCursor(Qt::PointingHandCursor);
  button->setFont(ui_font(11));
  return button;
}

}  // namespace

MainWindow::MainWindow(const Theme& theme) : state_(theme) {
  setWindowTitle(tr("Redline"));
  setStyleSheet(theme.style_sheet());
  setAcceptDrops(true);

  pages_ = new QStackedWidget;
  pages_->addWidget(make_message_page());
  pages_->addWidget(make_work_area());
  tuning_ = new TuningPage(state_.theme());
  pages_->addWidget(tuning_);
  connect(tuning_, &TuningPage::traces_chosen, this, &MainWindow::open);
  connect(tuning_, &TuningPage::comparison_chosen, this, &MainWindow::compare);
  run_ = new RunPage(state_.theme());
  pages_->addWidget(run_);
  connect(run_, &RunPage::traces_chosen, this, &MainWindow::open);
  connect(run_, &RunPage::comparison_chosen, this, &MainWindow::compare);
  auto* all = new QWidget;
  auto* column = make_column(all);
  column->addWidget(make_top_bar());
  column->addWidget(separator());
  column->addWidget(pages_, 1);
  column->addWidget(separator());
  column->addWidget(make_status_bar());
  setCentralWidget(all);
  connect_state();
  add_tab_shortcuts();
  show_message(tr("Open a trace, or drop files or a folder of ranks here."), false);
}

void MainWindow::keep_places() {
  resize(size().boundedTo(screen()->availableSize()));
  for (Place* place : {tables_place_, panes_place_}) place->keep();
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
  search_ = new SearchField(state_);
  auto* open = new QPushButton(tr("Open"));
  auto* help = new QPushButton(tr("?"));
  help->setToolTip(tr("Keys"));
  row->addWidget(product);
  row->addSpacing(14);
  row->addWidget(name_, 3);
  row->addWidget(search_, 4);
  row->addStretch(1);
  auto* compare = new QPushButton(tr("Compare"));
  compare->setToolTip(tr("Compare what is open with an earlier run"));
  auto* earlier = new QMenu(this);
  connect(earlier->addAction(tr("With an earlier run's files …")), &QAction::triggered, this,
          &MainWindow::choose_before);
  connect(earlier->addAction(tr("With an earlier run's folder of ranks …")), &QAction::triggered,
          this, &MainWindow::choose_folder_before);
  compare->setMenu(earlier);
  auto* save = new QPushButton(tr("Export"));
  save->setMenu(make_export_menu());
  open_menu_ = new QMenu(this);
  connect(open_menu_, &QMenu::aboutToShow, this, &MainWindow::fill_open_menu);
  open->setMenu(open_menu_);
  row->addWidget(open);
  row->addWidget(compare);
  tuning_button_ = new QPushButton(tr("Tuning"));
  tuning_button_->setToolTip(tr("The trials of an autotune study"));
  connect(tuning_button_, &QPushButton::clicked, this, &MainWindow::choose_study);
  row->addWidget(tuning_button_);
  run_button_ = new QPushButton(tr("Run"));
  run_button_->setToolTip(tr("The whole job, by its step logs"));
  run_button_->hide();
  connect(run_button_, &QPushButton::clicked, this,
          [this] { show_page(pages_->currentIndex() == kRunPage ? kTimelinePage : kRunPage); });
  row->addWidget(run_button_);
  row->addWidget(save);
  auto* view = new QPushButton(tr("View"));
  view->setMenu(make_view_menu());
  row->addWidget(view);
  row->addWidget(help);
  connect(help, &QPushButton::clicked, this, [this] { HelpDialog(this).exec(); });
  connect(search_, &SearchField::left, this, [this] { timeline_->lanes().setFocus(); });
  return bar;
}

void MainWindow::add_tab_shortcuts() {
  QString keys = QStringLiteral("1234567890");
  for (int i = 0; i < panes_->count(); ++i) keys += panes_->tabText(i).front();
  for (const QChar key : keys) {
    const QKeySequence sequence(static_cast<int>(Qt::ALT) | key.unicode());
    connect(new QShortcut(sequence, this), &QShortcut::activated, this, [this, key] {
      if (pages_->currentIndex() != kTimelinePage) return;
      for (const Tab& tab : tabs()) {
        if (tab.key == key) open_tab(tab);
      }
    });
  }
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
  menu->addSeparator();
  connect(menu->addAction(tr("Save the view beside the trace (Ctrl + S)")), &QAction::triggered,
          this, &MainWindow::save_view);
  return menu;
}

QMenu* MainWindow::make_view_menu() {
  auto* menu = new QMenu(this);
  auto* themes = menu->addMenu(tr("Theme"));
  auto* group = new QActionGroup(menu);
  const auto add = [&](const QString& text, ThemeChoice choice) {
    QAction* action = themes->addAction(text);
    action->setCheckable(true);
    group->addAction(action);
    connect(action, &QAction::triggered, this, [this, choice] {
      set_theme(choice);
      remember_theme(choice);
    });
    connect(themes, &QMenu::aboutToShow, action,
            [this, action, choice] { action->setChecked(theme_ == choice); });
  };
  add(tr("As the desktop"), ThemeChoice::kDesktop);
  add(tr("Light"), ThemeChoice::kLight);
  add(tr("Dark"), ThemeChoice::kDark);
  tables_place_->fill(*menu->addMenu(tr("Tables")));
  panes_place_->fill(*menu->addMenu(tr("Panes")));
  QAction* by_name = menu->addAction(tr("Colours by name (L)"));
  by_name->setCheckable(true);
  connect(by_name, &QAction::triggered, &state_, &ViewState::set_colours_by_name);
  connect(menu, &QMenu::aboutToShow, by_name,
          [this, by_name] { by_name->setChecked(state_.name_colours()); });
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
  progress_ = new LoadProgress;
  progress_->setFixedWidth(420);
  connect(progress_, &LoadProgress::cancelled, this, &MainWindow::cancel_load);
  column->addStretch(1);
  column->addWidget(message_);
  column->addWidget(progress_, 0, Qt::AlignCenter);
  recent_links_ = new QVBoxLayout;
  recent_links_->setSpacing(6);
  column->addLayout(recent_links_);
  column->addStretch(1);
  return page;
}

QWidget* MainWindow::make_work_area() {
  timeline_ = new Timeline(state_);
  tables_ = new TablesPane(state_);
  left_ = new QSplitter;
  left_->addWidget(timeline_);
  left_->setStretchFactor(0, 1);
  tables_place_ =
      new Place(*left_, *tables_, Place::kBelow, kTablesHeight, QStringLiteral("tables"));
  panes_ = new QTabWidget;
  panes_->setDocumentMode(true);
  panes_->setAccessibleName(tr("Panes beside the timeline"));
  pane_list_ = make_panes(state_);
  for (Pane* pane : pane_list_) {
    panes_->addTab(pane, pane->windowTitle());
    connect(pane, &Pane::wanted, this, [this, pane] { panes_->setCurrentWidget(pane); });
  }
  auto* flame = new FlamePane(state_);  // it needs the width that the tables have
  tables_->addTab(flame, flame->windowTitle());
  connect(flame, &Pane::wanted, this, [this, flame] {
    tables_->setCurrentWidget(flame);
    flame->setFocus();
  });
  pane_list_.push_back(flame);
  auto* area = new QSplitter;
  area->addWidget(left_);
  area->setStretchFactor(0, 1);
  panes_place_ = new Place(*area, *panes_, Place::kRight, kPaneWidth, QStringLiteral("panes"));
  connect(tables_place_, &Place::reset, this, [this] { share_room(state_.layout().height()); });
  connect(tables_, &TablesPane::name_chosen, &state_, &ViewState::go_to_name);
  return area;
}

void MainWindow::share_room(int lanes_height) {
  if (tables_place_->is_chosen()) return;
  const QList<int> sizes = left_->sizes();
  const int all = sizes[0] + sizes[1];
  const int around_lanes = timeline_->height() - timeline_->lanes().height();
  const int tables = std::max(kTablesHeight, all - around_lanes - lanes_height);
  left_->setSizes({all - tables, tables});
}

QWidget* MainWindow::make_status_bar() {
  auto* bar = new QWidget;
  bar->setFixedHeight(24);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(16, 0, 16, 0);
  row->setSpacing(24);
  loaded_text_ = link_button();
  clock_text_ = link_button();
  connect(loaded_text_, &QPushButton::clicked, this, &MainWindow::show_load_report);
  rest_progress_ = new LoadProgress;
  rest_progress_->setFixedWidth(kRestWidth);
  rest_progress_->hide();
  connect(rest_progress_, &LoadProgress::cancelled, this, &MainWindow::cancel_load);
  connect(clock_text_, &QPushButton::clicked, this, &MainWindow::toggle_clocks);
  selection_text_ = muted_label();
  range_text_ = muted_label();
  for (ElidedLabel* label : {selection_text_, range_text_}) label->setFont(ui_font(11));
  // A long name must not widen the window.
  selection_text_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  selection_text_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  row->addWidget(loaded_text_, 3);  // of many damaged ranks it could fill any line
  row->addWidget(rest_progress_);
  row->addWidget(clock_text_);
  row->addStretch(0);
  row->addWidget(selection_text_, 1);
  row->addWidget(range_text_);
  return bar;
}

}  // namespace redline::viewer
