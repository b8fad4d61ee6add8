// What can be done with a slice, a track or a group of them, as a menu.
#pragma once

#include <optional>

#include "viewer/widgets/view_state.h"

class QMenu;
class QWidget;

namespace redline::viewer {

/// Of one row, or (none) of all; above it what there is for a slice. It belongs to `parent`.
[[nodiscard]] QMenu* make_track_menu(ViewState& state, const std::optional<Row>& row,
                                     QWidget* parent, SliceRef slice = {});

}  // namespace redline::viewer
