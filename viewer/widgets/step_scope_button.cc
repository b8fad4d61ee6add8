#include "viewer/widgets/step_scope_button.h"

#include "viewer/widgets/controls.h"

namespace redline::viewer {

StepScopeButton::StepScopeButton(ViewState& state) {
  setProperty("link", true);
  setFont(ui_font(11));
  setCursor(Qt::PointingHandCursor);
  setAccessibleName(tr("Show all steps again"));
  setToolTip(
      tr("Kernels, Operators, Collectives, Memory, Flame and Selection show this step alone. A "
         "click shows all again."));
  hide();
  connect(this, &QPushButton::clicked, &state, [&state] { state.choose_step(std::nullopt); });
  connect(&state, &ViewState::step_changed, this, [this, &state] {
    const auto& step = state.chosen_step();
    setText(step ? for_button(tr("only %1  ×").arg(QString::fromStdString(step->name)))
                 : QString());
    setVisible(step.has_value());
  });
}

}  // namespace redline::viewer
