// "only step 7  ×": which step the tables and panes are about, and the way back to all steps.
#pragma once

#include <QPushButton>

#include "viewer/widgets/view_state.h"

namespace redline::viewer {

/// Hidden while no step is chosen. A click releases the step, for all tables and panes at once.
class StepScopeButton : public QPushButton {
  Q_OBJECT

 public:
  explicit StepScopeButton(ViewState& state);
};

}  // namespace redline::viewer
