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
  std::vector<SliceId> parent;  ///< of every slice (also of runtime calls); none() for roots
  /// For every slice, the NameKinds (as bits) of the nodes around it and of itself. They tell, for
  /// example, whether a launch happened anywhere inside an optimizer's step.
  std::vector<uint8_t> kinds_around;
  /// The forward and backward passes that run within an optimizer's step, because the program gave
  /// it a closure: `optimizer.step(closure)`, as Lightning and LBFGS do. By kinds_around, what is
  /// in them is not inside the optimizer.
  Intervals closures;

  /// The time of an optimizer's annotation without the closures that it called.
  [[nodiscard]] Intervals without_closures(Interval annotation) const;
};

[[nodiscard]] inline bool is_host_node(Category category) {
  return category == Category::kCpuOp || category == Category::kUserAnnotation;
}

[[nodiscard]] inline bool is_in_loader(const HostTree& tree, SliceId slice) {
  return (tree.kinds_around[slice.value] & kDataLoaderName) != 0;
}

/// Of each track, whether a thread works on it, though it be a stream's: see ThreadCursor.
[[nodiscard]] std::vector<bool> find_threads(const Trace& trace);

[[nodiscard]] HostTree build_host_tree(const Trace& trace, const NameKinds& names);

/// The innermost operator around a slice, such as a launch; none() if it is in none. Annotations,
/// such as steps, are no operators.
[[nodiscard]] SliceId operator_around(const Trace& trace, const HostTree& tree, SliceId slice);

/// Finds HostTree::closures for a tree that does not have them yet. Autograd gives sequence numbers
/// to the operators of a forward pass but not to those of the update, which runs without gradients;
/// these numbers tell the two apart.
[[nodiscard]] Intervals find_optimizer_closures(const Trace& trace, const NameKinds& names,
                                                const HostTree& tree);

/// For every slice, its duration without its child nodes; 0 if it is no node.
[[nodiscard]] std::vector<int64_t> self_times_ns(const Trace& trace, const HostTree& tree);

/// For every slice, whether a node is inside it.
[[nodiscard]] std::vector<bool> have_children(const Trace& trace, const HostTree& tree);

}  // namespace redline::trace
