// The flame graph of an area: which stacks of operators, annotations and Python frames took its
// time. Calls with the same names around them are one box, whenever they ran.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "viewer/models/area.h"
#include "viewer/models/table.h"

namespace redline::viewer {

struct FlameNode {
  std::string name;
  uint8_t slice_class = 0;
  uint32_t parent = 0;
  uint32_t depth = 0;
  uint64_t count = 0;                   ///< calls that reach into the area
  int64_t total_ns = 0;                 ///< what of them lies in the area
  int64_t self_ns = 0;                  ///< without the boxes below
  std::vector<uint32_t> children = {};  ///< the longest first
};

/// Box 0 holds all threads, and below it are the threads: they run at the same time, so their sum
/// may be longer than the area.
struct Flame {
  std::vector<FlameNode> nodes;  ///< empty: no host thread has anything there
  /// What the tooltip of a box says of it, by node; empty: its own time and its calls.
  std::vector<std::string> words = {};
  uint32_t plain_depth = 1;  ///< boxes down to this one are no calls, and have no colour

  [[nodiscard]] const FlameNode& node(uint32_t index) const { return nodes[index]; }
};

/// Sums up each host thread that has a lane in the area, with all its lanes. All steps count as one
/// name, because their numbers would keep equal stacks apart. Setting `cancel` makes it stop soon;
/// the result is then incomplete.
[[nodiscard]] Flame flame_of(const Session& session, const Area& area,
                             const std::atomic<bool>* cancel = nullptr);

struct FlameBox {
  uint32_t node = 0;
  uint32_t depth = 0;
  double left = 0;  ///< pixels
  double width = 0;
};

/// Where the boxes stand if `zoomed` and those around it fill the whole width. Boxes of less than a
/// pixel are left out.
[[nodiscard]] std::vector<FlameBox> flame_boxes(const Flame& flame, uint32_t zoomed, double width);

/// Each stack with its names from the thread inwards.
[[nodiscard]] Table flame_table(const Flame& flame);

}  // namespace redline::viewer
