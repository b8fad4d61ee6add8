// Asks for the words that stand on a mark's flag.
#pragma once

#include "viewer/widgets/view_state.h"

namespace redline::viewer {

/// Sets a mark where there was none, with `proposed` as the words to begin with. Returns at once.
void ask_for_note(ViewState& state, int64_t time_ns, const std::string& proposed, QWidget* parent);

}  // namespace redline::viewer
