// What can be done with a track or a group of them, as a menu.
#pragma once

#include <QPoint>
#include <optional>

#include "viewer/widgets/view_state.h"

class QMenu;
class QWidget;

namespace redline::viewer {

/// Of one row, or (none) of all. The menu belongs to `parent`.
[[nodiscard]] QMenu* make_track_menu(ViewState& state, const std::optional<Row>& row,
                                     QWidget* parent);

void show_track_menu(ViewState& state, const std::optional<Row>& row, QPoint at, QWidget* parent);

}  // namespace redline::viewer
