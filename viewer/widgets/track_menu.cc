#include "viewer/widgets/track_menu.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>

namespace redline::viewer {
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
    add(menu, state, row.folded ? QMenu::tr("Unfold") : QMenu::tr("Fold"),
        [id](Layout& layout) { layout.toggle(id); });
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
  add_action(QMenu::tr("Find all of its name"), [&state, name] { state.find(name); });
  add_action(QMenu::tr("Copy its name"), [name] { QGuiApplication::clipboard()->setText(name); });
  menu.addSeparator();
}

}  // namespace

QMenu* make_track_menu(ViewState& state, const std::optional<Row>& row, QWidget* parent,
                       SliceRef slice) {
  auto* menu = new QMenu(parent);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  if (slice) add_of_slice(*menu, state, slice);
  if (row) add_of_row(*menu, state, *row);
  const size_t hidden = state.layout().arrangement().hidden.size();
  add(*menu, state, QMenu::tr("Show all (%1 hidden)").arg(hidden),
      [](Layout& layout) { layout.show_all(); });
  menu->actions().last()->setEnabled(hidden > 0);
  add(*menu, state, QMenu::tr("Fold all"), [](Layout& layout) { layout.fold_all(true); });
  add(*menu, state, QMenu::tr("Unfold all"), [](Layout& layout) { layout.fold_all(false); });
  return menu;
}

}  // namespace redline::viewer
