// Where the roofline picture has its lines and circles, for the page and the viewer: both axes are
// logarithmic, in whole powers of ten, and places go from 0 to 1, upwards. Both count the
// operations that the result needs, as the roofs do: by flop_counter's, causal attention lies above
// its roof.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trace/report/report_roofline.h"

namespace redline::trace {

struct RooflinePlot {
  struct Tick {
    double place = 0;
    std::string text;  ///< "0.01", "100"
  };
  /// The slope of the memory's bandwidth up to a peak, which goes on to the right end.
  struct Roof {
    double left_y = 0;  ///< at the left end; below 0 where the slope begins further right
    double ridge_x = 0, peak_y = 0;
  };
  struct Circle {
    double x = 0, y = 0;
    double share = 0;  ///< of the time, by the longest circle's
    bool is_product = false;
    size_t row = 0;  ///< of the rows that the plot was made of
  };

  std::vector<Tick> x_ticks, y_ticks;
  std::vector<Roof> roofs;
  std::vector<Circle> circles;  ///< the longest time first, so that small ones are drawn over them

  [[nodiscard]] bool empty() const { return circles.empty() || roofs.empty(); }
};

/// Of the rows with the longest times whose operations, bytes and peaks are known.
[[nodiscard]] RooflinePlot roofline_plot(const std::vector<RooflineRow>& rows);

/// "mm 8944x1024, 1024x2816: 312 TFLOP/s, 31.5 % of peak, 2.1 ms"
[[nodiscard]] std::string roofline_hint(const RooflineRow& row);

}  // namespace redline::trace
