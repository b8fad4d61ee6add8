// The timeline as it is shown, as a drawing that stays sharp at any size: for papers and reports.
#pragma once

#include <QSize>
#include <string>

#include "viewer/widgets/view_state.h"

namespace redline::viewer {

/// `size` is that of the lanes; the names of the tracks stand at the left, a ruler on top.
[[nodiscard]] std::string timeline_svg(const ViewState& state, QSize size);

}  // namespace redline::viewer
