#include "viewer/widgets/help_dialog.h"

#include <QGridLayout>
#include <QLabel>

#include "viewer/widgets/theme.h"

namespace redline::viewer {
namespace {

struct KeyHelp {
  const char* keys;
  const char* meaning;
};

// As in Perfetto: the fingers of its users know these.
constexpr KeyHelp kKeys[] = {
    {"W  S", "zoom in and out at the cursor"},
    {"A  D,  ←  →", "move left and right"},
    {"Ctrl + wheel", "zoom at the cursor (on the ruler and the overview: the wheel alone)"},
    {"wheel,  ↑  ↓", "scroll the tracks"},
    {"Shift + wheel", "move left and right"},
    {"drag", "move; in the overview: choose what is shown"},
    {"click", "select a slice; click a track's name to fold it, right-click it for more"},
    {"F,  double click", "zoom to the selected slice, again: to everything"},
    {"[  ]", "to the slice that launched this one, and to what it launched"},
    {"Shift + drag", "select an area: the Selection tab sums it up by name"},
    {"drag on the ruler", "measure: select its time in all lanes"},
    {"R", "the same over the time of the selected slice, in all lanes"},
    {"M", "mark where the selected slice begins; again, or a double click on the flag: unmark"},
    {"N", "write a note on the flag; right click on a flag: its note, unmark"},
    {"P", "pin the selected slice's track on top, or let it go"},
    {"L", "colour slices by class or by name"},
    {"Home", "show everything"},
    {".  ,", "next and previous slice of the lane"},
    {"/,  Ctrl + F", "search; Enter and Shift + Enter: next and previous; args:text for arguments"},
    {"C", "set the ranks' clocks right by their collectives, or as recorded"},
    {"Esc", "drop the selection or the search; end the reading of a trace"},
    {"Ctrl + O,  Ctrl + S", "open traces; save zoom, tracks and marks beside the trace"},
    {"F5", "read the files again"},
    {"Alt + 1 … 9", "the tabs under and beside the timeline"},
    {"Tab", "to the next part; in the tracks: arrows, Enter folds, P pins, the menu key has more"},
    {"arrows,  Enter", "in charts, the histogram and the legend: walk and choose"},
    {"?", "this page"},
};

}  // namespace

HelpDialog::HelpDialog(QWidget* parent) : QDialog(parent) {
  setWindowTitle(tr("Keys"));
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(24, 20, 24, 20);
  grid->setHorizontalSpacing(24);
  grid->setVerticalSpacing(8);
  int row = 0;
  for (const KeyHelp& help : kKeys) {
    auto* keys = new QLabel(tr(help.keys));
    keys->setFont(ui_font(12, QFont::DemiBold));
    grid->addWidget(keys, row, 0);
    grid->addWidget(new QLabel(tr(help.meaning)), row++, 1);
  }
}

}  // namespace redline::viewer
