#include "viewer/widgets/graph_painter.h"

#include <algorithm>
#include <cmath>

namespace redline::viewer {

void paint_graph(LanesSurface& surface, const QRect& rect, const Graph& graph, const TimeAxis& axis,
                 const Theme& theme, double scale) {
  const double span = graph.high() - graph.low();
  if (graph.points().empty() || rect.height() < 4) return;
  const int line = std::max(1, static_cast<int>(std::lround(scale)));
  const int room = rect.height() - 2 * line;
  const auto y_of = [&](double value) {
    const double share = span > 0 ? (value - graph.low()) / span : 0;
    return rect.bottom() - line - static_cast<int>(std::lround(share * room));
  };
  QColor tint = theme.graph;
  tint.setAlpha(46);
  const auto columns = graph_columns(graph, axis);
  for (int x = 0; x < static_cast<int>(columns.size()); ++x) {
    const GraphColumn& column = columns[static_cast<size_t>(x)];
    if (!column.drawn) continue;
    const int top = y_of(column.high);
    const int bottom = y_of(column.low) + line;
    surface.fill({rect.left() + x, top, 1, bottom - top}, theme.graph);
    surface.fill({rect.left() + x, bottom, 1, rect.bottom() - bottom}, tint);
  }
}

}  // namespace redline::viewer
