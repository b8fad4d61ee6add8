#include "viewer/widgets/track_menu.h"

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

}  // namespace

QMenu* make_track_menu(ViewState& state, const std::optional<Row>& row, QWidget* parent) {
  auto* menu = new QMenu(parent);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  if (row) add_of_row(*menu, state, *row);
  const size_t hidden = state.layout().arrangement().hidden.size();
  add(*menu, state, QMenu::tr("Show all (%1 hidden)").arg(hidden),
      [](Layout& layout) { layout.show_all(); });
  menu->actions().last()->setEnabled(hidden > 0);
  add(*menu, state, QMenu::tr("Fold all"), [](Layout& layout) { layout.fold_all(true); });
  add(*menu, state, QMenu::tr("Unfold all"), [](Layout& layout) { layout.fold_all(false); });
  return menu;
}

void show_track_menu(ViewState& state, const std::optional<Row>& row, QPoint at, QWidget* parent) {
  make_track_menu(state, row, parent)->popup(at);
}

}  // namespace redline::viewer
