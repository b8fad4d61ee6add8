#include "viewer/widgets/popups.h"

#include <QClipboard>
#include <QGridLayout>
#include <QGuiApplication>
#include <QInputDialog>
#include <QLabel>
#include <QMenu>
#include <QScrollArea>
#include <QScrollBar>

#include "viewer/widgets/controls.h"

namespace redline::viewer {
namespace {

struct KeyHelp {
  const char* keys;
  const char* meaning;
};

// The same keys as in Perfetto, whose users know them.
constexpr KeyHelp kKeys[] = {
    {"W  S", "zoom in and out at the cursor"},
    {"A  D,  ←  →", "move left and right"},
    {"Ctrl + wheel", "zoom at the cursor (on the ruler and the overview: the wheel alone)"},
    {"wheel,  Page ↑ ↓", "scroll the tracks"},
    {"↑  ↓", "to the slice in the lane above or below; without a selection: scroll"},
    {"Shift + wheel", "move left and right"},
    {"drag", "move; in the overview: choose what is shown"},
    {"click", "select a slice; click a track's name to fold it, right-click it for more"},
    {"F,  double click", "zoom to the selected slice, again: to everything"},
    {"[  ]", "to the slice that launched this one, and to what it launched"},
    {"Shift + drag", "select an area: the Selection tab sums it up by name"},
    {"drag on the ruler", "measure: select its time in all lanes"},
    {"R", "the same over the time of the selected slice, in all lanes"},
    {"G", "flame graph of what is selected, or of the whole recording"},
    {"M", "mark where the selected slice begins; again, or a double click on the flag: unmark"},
    {"N", "write a note on the flag; right click on a flag: its note, unmark"},
    {"P", "pin the selected slice's track on top, or let it go"},
    {"L", "colour slices by class or by name"},
    {"Home", "show everything"},
    {".  ,", "next and previous slice of the lane"},
    {"/,  Ctrl + F", "search; Enter and Shift + Enter: next and previous; args:text for arguments"},
    {"C", "correct the ranks' clocks by their collectives, or show them as recorded"},
    {"Esc", "leave the search field; drop the selection, then the search; stop reading a trace"},
    {"Ctrl + O,  Ctrl + S", "open traces; save zoom, tracks and marks beside the trace"},
    {"F5", "read the files again"},
    {"Alt + 1 … 9, 0", "the tables, as they stand"},
    {"Alt + O, D, S", "Overview, Details, Selection"},
    {"Tab", "to the next part; in the tracks: arrows, Enter folds, P pins, the menu key has more"},
    {"arrows,  Enter", "in charts, the histogram and the legend: move from point to point; choose"},
    {"Ctrl + Shift + P", "everything that can be done, to find by name"},
    {"?", "this page"},
};

}  // namespace

HelpDialog::HelpDialog(QWidget* parent) : QDialog(parent) {
  setWindowTitle(tr("Keys"));
  auto* page = new QWidget;
  auto* grid = new QGridLayout(page);
  grid->setContentsMargins(24, 20, 24, 20);
  grid->setHorizontalSpacing(24);
  grid->setVerticalSpacing(8);
  int row = 0;
  for (const KeyHelp& help : kKeys) {
    auto* keys = new QLabel(tr(help.keys));
    keys->setFont(ui_font(12, QFont::DemiBold));
    grid->addWidget(keys, row, 0);
    grid->addWidget(new QLabel(tr(help.meaning)), row++, 1);
  }
  auto* area = new QScrollArea;
  area->setFrameShape(QFrame::NoFrame);
  area->setAccessibleName(windowTitle());
  area->setWidgetResizable(true);
  area->setWidget(page);
  make_column(this)->addWidget(area);
  const QSize whole = page->sizeHint() + QSize(area->verticalScrollBar()->sizeHint().width(), 0);
  resize(whole.boundedTo(parent->window()->size()));
}

namespace {

constexpr int kWidth = 420;

}  // namespace

void ask_for_note(ViewState& state, const Mark& mark, QWidget* parent) {
  auto* dialog = new QInputDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QInputDialog::tr("Note"));
  dialog->setLabelText(QInputDialog::tr("What to note here:"));
  dialog->resize(kWidth, dialog->sizeHint().height());
  dialog->setTextValue(QString::fromStdString(mark.note));
  QObject::connect(dialog, &QInputDialog::textValueSelected, &state,
                   [&state, time_ns = mark.time_ns, trace = mark.trace](const QString& note) {
                     state.set_mark(time_ns, note.toStdString(), trace);
                   });
  // Of another trace, or on an axis that begins elsewhere, the time would be another moment.
  for (const auto signal : {&ViewState::session_changed, &ViewState::marks_changed}) {
    QObject::connect(&state, signal, dialog, &QDialog::reject);
  }
  dialog->open();
}

namespace {

template <typename Change>
void add(QMenu& menu, ViewState& state, const QString& text, const Change& change) {
  QObject::connect(menu.addAction(text), &QAction::triggered, &state,
                   [&state, change] { state.rearrange(change); });
}

void add_of_row(QMenu& menu, ViewState& state, const Row& row) {
  const RowId id = row.id;
  if (!row.is_header()) {
    const bool pin = !row.pinned;
    add(menu, state, pin ? QMenu::tr("Pin on top") : QMenu::tr("Unpin"),
        [id, pin](Layout& layout) { layout.set_pinned(id, pin); });
  }
  if (row.can_fold) {
    QObject::connect(menu.addAction(row.folded ? QMenu::tr("Unfold") : QMenu::tr("Fold")),
                     &QAction::triggered, &state, [&state, id] { state.toggle(id); });
  }
  const TrackGroup& group = state.layout().group_of(row);
  if (group.device >= 0) {
    const QString gpu =
        QString::fromStdString(gpu_title(state.session(), group.trace, group.device));
    QObject::connect(menu.addAction(QMenu::tr("Its idle gaps")), &QAction::triggered, &state,
                     [&state, gpu] { emit state.gaps_wanted('"' + gpu + '"'); });
  }
  add(menu, state, QMenu::tr("Hide"), [id](Layout& layout) { layout.hide(id); });
  add(menu, state, QMenu::tr("Hide all others"), [id](Layout& layout) { layout.hide_others(id); });
  if (!row.pinned) {
    add(menu, state, QMenu::tr("Move up"), [id](Layout& layout) { layout.move(id, -1); });
    add(menu, state, QMenu::tr("Move down"), [id](Layout& layout) { layout.move(id, 1); });
  }
  menu.addSeparator();
}

void add_of_slice(QMenu& menu, ViewState& state, SliceRef ref) {
  const QString name = QString::fromStdString(std::string(state.session().name_of(ref)));
  const auto add_action = [&](const QString& text, const auto& act) {
    QObject::connect(menu.addAction(text), &QAction::triggered, &state, act);
  };
  add_action(QMenu::tr("Zoom to the slice"), [&state, ref] {
    state.select(ref);
    state.fit_selection();
  });
  add_action(QMenu::tr("Find all of its name"), [&state, name] { state.find_whole(name); });
  add_action(QMenu::tr("Copy its name"), [name] { QGuiApplication::clipboard()->setText(name); });
  menu.addSeparator();
}

}  // namespace

QMenu* make_track_menu(ViewState& state, const std::optional<Row>& row, QWidget* parent,
                       SliceRef slice) {
  auto* menu = new QMenu(parent);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  // A report or another trace may arrive meanwhile: then this row may be another one.
  QObject::connect(&state, &ViewState::layout_changed, menu, &QWidget::close);
  if (slice) add_of_slice(*menu, state, slice);
  if (row) add_of_row(*menu, state, *row);
  const size_t hidden = state.layout().arrangement().hidden.size();
  add(*menu, state, QMenu::tr("Show all (%1 hidden)").arg(hidden),
      [](Layout& layout) { layout.show_all(); });
  menu->actions().last()->setEnabled(hidden > 0);
  add(*menu, state, QMenu::tr("Fold all"), [](Layout& layout) { layout.fold_all(true); });
  add(*menu, state, QMenu::tr("Unfold all"), [](Layout& layout) { layout.fold_all(false); });
  if (state.session().is_partial()) {
    QObject::connect(menu->addAction(QMenu::tr("Load all ranks")), &QAction::triggered, &state,
                     &ViewState::want_all_ranks);
  }
  return menu;
}

}  // namespace redline::viewer
