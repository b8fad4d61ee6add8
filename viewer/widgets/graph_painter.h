// A graph's line and the tint under it.
#pragma once

#include "viewer/models/graph.h"
#include "viewer/widgets/lanes_surface.h"
#include "viewer/widgets/theme.h"

namespace redline::viewer {

/// Into `rect`, one column a pixel; `axis` is in the graph's time and as wide as `rect`.
void paint_graph(LanesSurface& surface, const QRect& rect, const Graph& graph, const TimeAxis& axis,
                 const Theme& theme, double scale);

}  // namespace redline::viewer
