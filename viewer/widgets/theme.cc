#include "viewer/widgets/theme.h"

#include <QFontDatabase>

namespace redline::viewer {
namespace {

// Even a short slice in a pixel must be seen, so the opacity begins at this share.
constexpr double kFaintest = 0.28;

// The colours have equal lightness, so that no name stands out, and the colour-blind can tell them
// apart, too.
constexpr std::array<const char*, kNameColourCount> kNameColours = {
    "#77aadd", "#ee8866", "#44bb99", "#ffaabb", "#bbcc33", "#99ddff", "#df6077", "#eedd88"};
constexpr const char* kOnNames = "#10161c";

using ClassColours = std::array<const char*, kSliceClassCount>;

void set_colours(Theme& theme, const ClassColours& slices, const ClassColours& labels) {
  for (size_t c = 0; c < kColourCount; ++c) {
    const bool is_class = c < kSliceClassCount;
    theme.slice[c] = QColor(is_class ? slices[c] : kNameColours[c - kSliceClassCount]);
    theme.label[c] = QColor(is_class ? labels[c] : kOnNames);
  }
}

// The order of each list is that of SliceClass: operator, annotation, compute, communication, copy,
// DataLoader, runtime, Python, overhead, other, overlapped.
Theme make_light() {
  Theme theme;
  theme.panel = QColor("#f6f7f9");
  theme.lanes = QColor("#ffffff");
  theme.header = QColor("#f6f7f9");
  theme.separator = QColor("#dfe3e8");
  theme.text = QColor("#1f2933");
  theme.muted = QColor("#647080");
  theme.accent = QColor("#2f62d9");
  theme.graph = QColor("#e8914a");
  theme.idle = QColor("#eceff3");
  theme.field = QColor("#ffffff");
  theme.chosen = QColor("#dde7fb");
  set_colours(theme,
              {"#a79bc4", "#c9d3de", "#4f8fd9", "#e8914a", "#3fa66a", "#d65a52", "#79b8b4",
               "#d3c491", "#7f8285", "#c9d3de", "#5d3fae"},
              {"#221b36", "#1f2933", "#04162c", "#3a1d04", "#021c0c", "#1c0302", "#12282a",
               "#2b2611", "#07090b", "#1f2933", "#ffffff"});
  return theme;
}

Theme make_dark() {
  Theme theme;
  theme.dark = true;
  theme.panel = QColor("#1c2026");
  theme.lanes = QColor("#16191d");
  theme.header = QColor("#1c2026");
  theme.separator = QColor("#2c323a");
  theme.text = QColor("#e4e8ed");
  theme.muted = QColor("#8b95a1");
  theme.accent = QColor("#6ea0ff");
  theme.graph = QColor("#e39a57");
  theme.idle = QColor("#242931");
  theme.field = QColor("#262b32");
  theme.chosen = QColor("#2a3a57");
  set_colours(theme,
              {"#73669a", "#3a4450", "#5b9be6", "#e39a57", "#4fb97b", "#e36a62", "#3d7377",
               "#77703f", "#d0d6dc", "#3a4450", "#c9b0ff"},
              {"#ffffff", "#e4e8ed", "#08182c", "#2b1603", "#04200f", "#2c0805", "#ffffff",
               "#ffffff", "#14181c", "#e4e8ed", "#160b2e"});
  return theme;
}

}  // namespace

const Theme& Theme::light() {
  static const Theme theme = make_light();
  return theme;
}

const Theme& Theme::dark_theme() {
  static const Theme theme = make_dark();
  return theme;
}

QColor Theme::area_tint() const {
  constexpr int kOpacity = 18;  // with more the names under it could not be read
  QColor tint = accent;
  tint.setAlpha(kOpacity);
  return tint;
}

double Theme::opacity_of(uint8_t cover) { return kFaintest + (1 - kFaintest) * cover / 255; }

QString Theme::style_sheet() const {
  QString sheet = QStringLiteral(R"(
    QWidget { background: $panel; color: $text;
              selection-background-color: $accent; selection-color: $field; }
    QToolTip { background: $field; color: $text; border: 1px solid $separator; padding: 4px; }
    QLineEdit { background: $field; border: 1px solid $separator; border-radius: 4px;
                padding: 4px 10px; }
    QLineEdit[quiet="true"] { border: none; border-bottom: 1px solid $separator; border-radius: 0;
                background: $panel; padding: 0 8px 0 15px; }
    redline--viewer--Field { qproperty-hint: $muted; }
    QMenu { background: $field; border: 1px solid $separator; padding: 4px; }
    QMenu::item { padding: 4px 20px 4px 12px; border-radius: 3px; }
    QMenu::item:selected { background: $accent; color: $field; }
    QMenu::item:disabled { color: $muted; }
    QMenu::separator { height: 1px; background: $separator; margin: 4px 0; }
    QLineEdit:focus { border-color: $accent; }
    QPushButton { background: transparent; border: 1px solid transparent; border-radius: 4px;
                  padding: 4px 10px; }
    QPushButton:hover { border-color: $separator; background: $field; }
    QPushButton:focus { border-color: $accent; background: $field; }
    QPushButton::menu-indicator { image: none; width: 0; }
    QPushButton[link="true"] { color: $accent; padding: 0; border: none; background: transparent;
                  border-bottom: 1px solid transparent; border-radius: 0; }
    QPushButton[link="true"]:hover { text-decoration: underline; }
    QPushButton[quiet="true"] { color: $muted; padding: 0; border: none; background: transparent;
                  border-bottom: 1px solid transparent; border-radius: 0; }
    QPushButton[quiet="true"]:hover { color: $accent; }
    QPushButton[link="true"]:focus, QPushButton[quiet="true"]:focus {
                  border-bottom-color: $accent; }
    QTabWidget::pane { border: none; border-top: 1px solid $separator; }
    QTabBar { qproperty-drawBase: 0; }
    QTabBar::tab { padding: 7px 10px 6px 10px; color: $muted;
                   border-bottom: 2px solid transparent; }
    QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
    QTabBar::tab:focus { padding: 6px 9px; border: 1px solid $accent; border-bottom-width: 2px; }
    QTabBar QToolButton { background: $panel; border: none; }
    QTableView { border: 1px solid $panel; gridline-color: transparent; outline: none;
                 selection-background-color: $chosen; selection-color: $text; }
    QTableView:focus { border-color: $accent; }
    QTableView::item { padding: 0 5px 0 11px; border: none; }
    QTableView::item:selected { background: $chosen; color: $text; }
    QHeaderView { background: $panel; color: $muted; border: none; }
    QSplitter::handle { background: $separator; }
    QScrollArea { border: 1px solid $panel; }
    QScrollArea:focus { border-color: $accent; }
    QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
    QScrollBar::handle:vertical { background: $separator; border-radius: 4px; min-height: 24px;
                                  margin: 1px; }
    QScrollBar::handle:disabled { background: transparent; }
    QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
    QScrollBar::handle:horizontal { background: $separator; border-radius: 4px; min-width: 24px;
                                    margin: 1px; }
    QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
    QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
    QAbstractScrollArea::corner { border: none; }
    QProgressBar { border: 1px solid $separator; border-radius: 4px; background: $field;
                   text-align: center; }
    QProgressBar::chunk { background: $chosen; border-right: 2px solid $accent; }
    QLabel[muted="true"] { color: $muted; }
    QFrame[line="true"] { background: $separator; }
    QFrame[card="true"] { background: $field; border: 1px solid $separator; border-radius: 4px; }
    QFrame[card="true"] QLabel { background: transparent; border: none; }
  )");
  const std::pair<const char*, QColor> names[] = {
      {"$panel", panel}, {"$field", field},   {"$separator", separator}, {"$text", text},
      {"$muted", muted}, {"$accent", accent}, {"$chosen", chosen}};
  for (const auto& [name, colour] : names) sheet.replace(QLatin1String(name), colour.name());
  return sheet;
}

QFont ui_font(int pixels, QFont::Weight weight) {
  static const bool has_inter = QFontDatabase::families().contains(QStringLiteral("Inter"));
  QFont font = has_inter ? QFont(QStringLiteral("Inter")) : QFont();
  font.setPixelSize(pixels);
  font.setWeight(weight);
  return font;
}

}  // namespace redline::viewer
