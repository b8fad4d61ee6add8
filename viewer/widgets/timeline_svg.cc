#include "viewer/widgets/timeline_svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "viewer/models/ruler.h"
#include "viewer/widgets/lanes_painter.h"
#include "viewer/widgets/qt_text.h"
#include "viewer/widgets/svg_surface.h"

namespace redline::viewer {
namespace {

constexpr int kTrackNames = 230;
constexpr int kRuler = 22;
constexpr int kTickLabel = 90;

std::string lanes_svg(const ViewState& state, QSize size, const QFontMetrics& metrics) {
  SvgSurface surface(size, state.theme().lanes, metrics);
  LanesPainter(state.theme()).paint_onto(surface, scene_of(state), 1);
  return surface.take();
}

std::string ruler_svg(const ViewState& state, const QFontMetrics& metrics) {
  std::string out;
  for (const Tick& tick : ruler_ticks(state.axis(), 0, kTickLabel)) {
    const int x = kTrackNames + static_cast<int>(state.axis().x_of(tick.time_ns));
    const int top = tick.label.empty() ? 15 : 4;
    out += svg_rect({x, top, 1, kRuler - top}, state.theme().separator);
    if (tick.label.empty()) continue;
    out += svg_text({x + 4, 15}, text(tick.label), kTickLabel, metrics, state.theme().muted);
  }
  return out;
}

std::string name_svg(const ViewState& state, const Row& row, const QFontMetrics& metrics) {
  const bool header = row.is_header();
  const std::string& title =
      header ? state.layout().group_of(row).title : state.layout().item_of(row).title;
  const int top = kRuler + row.view_top(state.scroll());
  const QPoint at(header ? 12 : 34, top + std::min(15, (row.height + 7) / 2));
  return svg_rect({0, top, kTrackNames, row.height}, state.theme().panel) +
         svg_rect({0, top + row.height - 1, kTrackNames, 1}, state.theme().separator) +
         svg_text(at, text(title), kTrackNames - 44, metrics, state.theme().text);
}

// Pinned rows last: the others scroll below them.
std::string names_svg(const ViewState& state, int height, const QFontMetrics& metrics) {
  std::string out = svg_rect({0, kRuler, kTrackNames, height}, state.theme().panel);
  for (const bool pinned : {false, true}) {
    for (const Row& row : state.layout().rows()) {
      const int top = row.view_top(state.scroll());
      if (row.pinned != pinned || top >= height || top + row.height <= 0) continue;
      out += name_svg(state, row, metrics);
    }
  }
  return out;
}

}  // namespace

std::string timeline_svg(const ViewState& state, QSize size) {
  const Theme& theme = state.theme();
  const QFontMetrics metrics(ui_font(11));
  const QSize all(size.width() + kTrackNames, size.height() + kRuler);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
             "font-family=\"Inter, sans-serif\" font-size=\"11\">\n",
             all.width(), all.height()) +
         svg_rect({{}, all}, theme.lanes) +
         fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">\n", kTrackNames, kRuler,
                     size.width(), size.height()) +
         lanes_svg(state, size, metrics) + "</svg>\n" + names_svg(state, size.height(), metrics) +
         svg_rect({0, 0, all.width(), kRuler}, theme.lanes) + ruler_svg(state, metrics) +
         svg_rect({0, 0, kTrackNames, kRuler}, theme.panel) + "</svg>\n";
}

}  // namespace redline::viewer
