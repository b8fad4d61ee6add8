// Who called whom on the host: operators and annotations as trees, one a thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/intervals.h"
#include "trace/model/model.h"
#include "trace/model/slice_class.h"

namespace redline::trace {

/// The parent of a slice is the innermost operator or annotation around it on its thread. Only
/// these two are nodes; Python functions and runtime calls in between are skipped.
struct HostTree {
  std::vector<SliceId> parent;  ///< of every slice (also of runtime calls); none for roots
  /// NameKinds of every slice's nodes around it, itself included: e.g. whether a launch happened
  /// anywhere inside an optimizer's step.
  std::vector<uint8_t> kinds_around;
  /// The forward and backward passes that run within an optimizer's step, because the program gave
  /// it a closure: `optimizer.step(closure)`, as Lightning and LBFGS do. What is in them is not
  /// around an optimizer, by kinds_around.
  Intervals closures;

  /// The time of an optimizer's annotation without the closures that it called.
  [[nodiscard]] Intervals without_closures(Interval annotation) const;
};

[[nodiscard]] inline bool is_host_node(Category category) {
  return category == Category::kCpuOp || category == Category::kUserAnnotation;
}

[[nodiscard]] HostTree build_host_tree(const Trace& trace, const NameKinds& names);

/// HostTree::closures, of a tree that has none yet. A forward pass is told from the update by the
/// sequence numbers that autograd gave its operators: an update runs without gradients.
[[nodiscard]] Intervals find_optimizer_closures(const Trace& trace, const NameKinds& names,
                                                const HostTree& tree);

/// Of every slice: its duration without child nodes; 0 for what is no node.
[[nodiscard]] std::vector<int64_t> self_times_ns(const Trace& trace, const HostTree& tree);

/// Of every slice: whether a node is inside.
[[nodiscard]] std::vector<bool> have_children(const Trace& trace, const HostTree& tree);

}  // namespace redline::trace
