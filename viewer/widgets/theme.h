// The colours and fonts of the window, light and dark. A colour always means something (a class of
// slices, a selection); none is decoration. A test measures that the colour-blind can tell the
// classes apart in both themes.
#pragma once

#include <QColor>
#include <QFont>
#include <QString>
#include <array>

#include "viewer/models/slice_class.h"

namespace redline::viewer {

struct Theme {
  bool dark = false;
  QColor panel;   ///< around the lanes
  QColor lanes;   ///< behind the slices
  QColor header;  ///< process rows
  QColor separator;
  QColor text;
  QColor muted;
  QColor accent;                           ///< selection, active tab, links
  QColor graph;                            ///< lines of values over time
  QColor idle;                             ///< a GPU that waits
  QColor field;                            ///< inputs and cards
  QColor chosen;                           ///< the row of a table that is selected
  std::array<QColor, kColourCount> slice;  ///< by class, then by name
  std::array<QColor, kColourCount> label;  ///< text on a slice

  [[nodiscard]] QColor of(SliceClass c) const { return slice[static_cast<size_t>(c)]; }
  /// Lies over the lanes of a selected area, and over the names in them.
  [[nodiscard]] QColor area_tint() const;
  /// The opacity of something that covers `cover`/255 of a pixel column. Even the faintest can be
  /// seen.
  [[nodiscard]] static double opacity_of(uint8_t cover);
  [[nodiscard]] QString style_sheet() const;

  [[nodiscard]] static const Theme& light();
  [[nodiscard]] static const Theme& dark_theme();
};

/// Inter if it is installed, else the desktop's own font.
[[nodiscard]] QFont ui_font(int pixels, QFont::Weight weight = QFont::Normal);

}  // namespace redline::viewer
