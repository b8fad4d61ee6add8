#include "trace/host_tree.h"

#include "trace/slice_view.h"

namespace redline::trace {
namespace {

class Builder {
 public:
  Builder(const Trace& trace, const NameKinds& names)
      : trace_(trace), names_(names), around_(trace.slice_count()) {
    tree_.parent.resize(trace.slice_count());
    tree_.self_ns.resize(trace.slice_count(), 0);
    tree_.has_child.resize(trace.slice_count(), false);
    tree_.kinds_around.resize(trace.slice_count(), 0);
  }

  HostTree build() {
    for (const Track& track : trace_.tracks()) {
      for (uint32_t depth = 0; depth < track.lane_count; ++depth) {
        place_lane(track, depth);
      }
    }
    return std::move(tree_);
  }

 private:
  // Both lanes are sorted, so one walk over the lane above finds all slices around this one's.
  void place_lane(const Track& track, uint32_t depth) {
    const Lane& lane = trace_.lanes()[track.first_lane.value + depth];
    uint32_t above = 0;
    for (uint32_t i = 0; i < lane.count; ++i) {
      const SliceId slice{lane.first.value + i};
      SliceId around;
      if (depth > 0) {
        const Lane& upper = trace_.lanes()[track.first_lane.value + depth - 1];
        around = last_begun(upper, begin_ns(slice), above);
      }
      while (around && end_ns(around) < end_ns(slice)) around = around_[around.value];
      around_[slice.value] = around;
      add(slice, around);
    }
  }

  [[nodiscard]] SliceId last_begun(const Lane& lane, int64_t time_ns, uint32_t& next) const {
    while (next < lane.count && begin_ns({lane.first.value + next}) <= time_ns) ++next;
    return next == 0 ? SliceId::none() : SliceId{lane.first.value + next - 1};
  }

  void add(SliceId slice, SliceId around) {
    const Category category = trace_.slices().category[slice.value];
    SliceId parent = around;
    while (parent && !is_host_node(trace_.slices().category[parent.value])) {
      parent = around_[parent.value];
    }
    tree_.parent[slice.value] = parent;
    uint8_t& kinds = tree_.kinds_around[slice.value];
    if (parent) kinds = tree_.kinds_around[parent.value];
    if (!is_host_node(category)) return;
    kinds |= names_.of(trace_.slices().name[slice.value]);
    const int64_t length_ns = duration_ns(trace_, slice);
    tree_.self_ns[slice.value] = length_ns;
    if (!parent) return;
    tree_.self_ns[parent.value] -= length_ns;
    tree_.has_child[parent.value] = true;
  }

  [[nodiscard]] int64_t begin_ns(SliceId slice) const {
    return trace_.slices().begin_ns[slice.value];
  }
  [[nodiscard]] int64_t end_ns(SliceId slice) const { return trace_.slices().end_ns[slice.value]; }

  const Trace& trace_;
  const NameKinds& names_;
  std::vector<SliceId> around_;  // the innermost slice of any kind around each
  HostTree tree_;
};

}  // namespace

HostTree build_host_tree(const Trace& trace, const NameKinds& names) {
  return Builder(trace, names).build();
}

}  // namespace redline::trace
