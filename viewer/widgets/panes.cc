#include "viewer/widgets/panes.h"

namespace redline::viewer {

std::vector<Pane*> make_panes(ViewState& state) {
  return {new OverviewPane(state), new DetailsPane(state), new SelectionPane(state)};
}

}  // namespace redline::viewer
