// Who called whom on the host: operators and annotations as trees, one a thread.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/analysis/name_kinds.h"
#include "trace/model/model.h"

namespace redline::trace {

/// Parents by nesting on the thread. Only operators and annotations are nodes: Python functions and
/// runtime calls are looked through.
struct HostTree {
  std::vector<SliceId> parent;  ///< of every slice (also of runtime calls); none for roots
  /// NameKinds of every slice's nodes around it, itself included: e.g. whether a launch happened
  /// anywhere inside an optimizer's step.
  std::vector<uint8_t> kinds_around;
};

[[nodiscard]] inline bool is_host_node(Category category) {
  return category == Category::kCpuOp || category == Category::kUserAnnotation;
}

[[nodiscard]] HostTree build_host_tree(const Trace& trace, const NameKinds& names);

/// Of every slice: its duration without child nodes; 0 for what is no node.
[[nodiscard]] std::vector<int64_t> self_times_ns(const Trace& trace, const HostTree& tree);

/// Of every slice: whether a node is inside.
[[nodiscard]] std::vector<bool> have_children(const Trace& trace, const HostTree& tree);

}  // namespace redline::trace
