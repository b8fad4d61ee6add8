#include "trace/analysis/host_tree.h"

#include <algorithm>

#include "trace/model/category.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

class Builder {
 public:
  Builder(const Trace& trace, const NameKinds& names)
      : trace_(trace), names_(names), slices_(trace.slices()) {
    tree_.parent.resize(trace.slice_count());
    tree_.kinds_around.resize(trace.slice_count());
  }

  HostTree build() {
    for (const Track& track : trace_.tracks()) {
      const auto lanes = lanes_of(trace_, track);
      for (size_t depth = 1; depth < lanes.size(); ++depth) {
        place_lane(lanes[depth], lanes[depth - 1]);
      }
      for (const Lane& lane : lanes) look_through_other_slices(lane);
    }
    return std::move(tree_);
  }

 private:
  // Finds the innermost slice of any kind around each slice of the lane. Both lanes are sorted, so
  // one walk over the lane above finds them all.
  void place_lane(const Lane& lane, const Lane& above) {
    uint32_t begun = 0;  // how many slices above began by now
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      const int64_t begin_ns = slices_.begin_ns[i], end_ns = slices_.end_ns[i];
      while (begun < above.count && slices_.begin_ns[above.first.value + begun] <= begin_ns) {
        ++begun;
      }
      SliceId around = begun == 0 ? SliceId::none() : SliceId{above.first.value + begun - 1};
      while (around && slices_.end_ns[around.value] < end_ns) around = tree_.parent[around.value];
      tree_.parent[i] = around;
    }
  }

  // Replaces parents that are no nodes by their own parents. Lanes come from the top down, so a
  // slice's parent already has its node.
  void look_through_other_slices(const Lane& lane) {
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      SliceId& parent = tree_.parent[i];
      if (parent && !is_host_node(slices_.category[parent.value])) {
        parent = tree_.parent[parent.value];
      }
      uint8_t kinds = parent ? tree_.kinds_around[parent.value] : uint8_t{0};
      if (is_host_node(slices_.category[i])) kinds |= names_.of(slices_.name[i]);
      tree_.kinds_around[i] = kinds;
    }
  }

  const Trace& trace_;
  const NameKinds& names_;
  const Slices& slices_;
  HostTree tree_;
};

bool is_inside(Interval inner, Interval outer) {
  return outer.begin_ns <= inner.begin_ns && inner.end_ns <= outer.end_ns;
}

// Whether a closure calls the optimizer, as where it sets gradients to zero. The step that calls
// the closure may be no longer than it.
bool is_called_by(Interval closure, Interval annotation) {
  return is_inside(annotation, closure) && annotation != closure;
}

// Removes the optimizer from kinds_around of everything inside a closure.
void leave_closures(const Trace& trace, const NameKinds& names, HostTree& tree) {
  IntervalCursor closures(tree.closures);
  for_each_slice(trace, [&](SliceId slice, Category) {
    uint8_t& kinds = tree.kinds_around[slice.value];
    const Interval interval = interval_of(trace, slice);
    if ((kinds & kOptimizerName) == 0) return;
    const auto closure = closures.behind(interval.begin_ns);
    if (closure == tree.closures.end() || !is_inside(interval, *closure)) return;
    SliceId at =
        is_host_node(trace.slices().category[slice.value]) ? slice : tree.parent[slice.value];
    while (at && !names.is(trace.slices().name[at.value], kOptimizerName))
      at = tree.parent[at.value];
    const bool is_called = at && is_called_by(*closure, interval_of(trace, at));
    if (!is_called) kinds = static_cast<uint8_t>(kinds & ~kOptimizerName);
  });
}

}  // namespace

Intervals HostTree::without_closures(Interval annotation) const {
  IntervalCursor cursor(closures);
  const auto closure = cursor.behind(annotation.begin_ns);
  const bool is_called = closure != closures.end() && is_called_by(*closure, annotation);
  return is_called ? Intervals{annotation} : subtract({annotation}, closures);
}

std::vector<bool> find_threads(const Trace& trace) {
  const auto is_of_a_thread = [](Category category) {
    return is_host_node(category) || is_launch(category) || category == Category::kPythonFunction;
  };
  std::vector<bool> is_thread(trace.tracks().size());
  for (const Lane& lane : trace.lanes()) {
    if (is_thread[lane.track.value]) continue;
    const auto categories = of_lane(trace.slices().category, lane);
    is_thread[lane.track.value] = std::ranges::any_of(categories, is_of_a_thread);
  }
  return is_thread;
}

HostTree build_host_tree(const Trace& trace, const NameKinds& names) {
  HostTree tree = Builder(trace, names).build();
  tree.closures = find_optimizer_closures(trace, names, tree);
  if (!tree.closures.empty()) leave_closures(trace, names, tree);
  return tree;
}

SliceId operator_around(const Trace& trace, const HostTree& tree, SliceId slice) {
  SliceId at = tree.parent[slice.value];
  while (at && trace.slices().category[at.value] != Category::kCpuOp) at = tree.parent[at.value];
  return at;
}

std::vector<int64_t> self_times_ns(const Trace& trace, const HostTree& tree) {
  std::vector<int64_t> self_ns(trace.slice_count());
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!is_host_node(category)) return;
    const int64_t length_ns = duration_ns(trace, slice);
    self_ns[slice.value] += length_ns;
    if (const SliceId parent = tree.parent[slice.value]) self_ns[parent.value] -= length_ns;
  });
  return self_ns;
}

std::vector<bool> have_children(const Trace& trace, const HostTree& tree) {
  std::vector<bool> have(trace.slice_count());
  for_each_slice(trace, [&](SliceId slice, Category category) {
    const SliceId parent = tree.parent[slice.value];
    if (parent && is_host_node(category)) have[parent.value] = true;
  });
  return have;
}

}  // namespace redline::trace
