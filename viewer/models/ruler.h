// Where the ruler's marks stand and what they say.
#pragma once

#include <string>
#include <vector>

#include "viewer/models/time_axis.h"

namespace redline::viewer {

struct Tick {
  int64_t time_ns = 0;
  std::string label;  ///< empty for the small marks between
};

/// Marks at round distances (1, 2, 5 times a power of ten), labels at least `label_pixels` apart,
/// counted from the time `zero_ns`: "+4 ms". The label's digits tell neighbours apart at any zoom.
[[nodiscard]] std::vector<Tick> ruler_ticks(const TimeAxis& axis, int64_t zero_ns,
                                            int label_pixels);

}  // namespace redline::viewer
