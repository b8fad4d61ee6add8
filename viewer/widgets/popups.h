// The parts that open over the window: the page of keys, the field for a note, the menu of a track.
#pragma once

#include <QDialog>
#include <optional>

#include "viewer/widgets/view_state.h"

class QMenu;
class QWidget;

namespace redline::viewer {

/// All keys on one page.
class HelpDialog : public QDialog {
  Q_OBJECT

 public:
  explicit HelpDialog(QWidget* parent);
};

/// Asks for the words on a mark's flag, and sets the mark if there was none. The field begins with
/// its note. Returns at once, before the user answers.
void ask_for_note(ViewState& state, const Mark& mark, QWidget* parent);

/// A menu of what can be done with one row of the tracks (nullopt: with all of them), and with a
/// slice if one is given. The menu belongs to `parent`.
[[nodiscard]] QMenu* make_track_menu(ViewState& state, const std::optional<Row>& row,
                                     QWidget* parent, SliceRef slice = {});

}  // namespace redline::viewer
