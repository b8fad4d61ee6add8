#include <algorithm>
#include <map>
#include <string_view>

#include "trace/analysis/host_tree.h"
#include "trace/model/slice_view.h"
#include "trace/read/args.h"

namespace redline::trace {
namespace {

enum class Part : uint8_t { kForward, kBackward, kUpdate, kCollective };

// Begins the names of what DDP does on the host after its all-reduce, behind the last node of
// autograd.
constexpr std::string_view kReducer = "torch.distributed.ddp.reducer::";

struct Piece {
  Interval interval;
  Part part = Part::kUpdate;
};

class ClosureFinder {
 public:
  ClosureFinder(const Trace& trace, const NameKinds& names, const HostTree& tree)
      : trace_(trace), names_(names), tree_(tree) {}

  Intervals find() {
    collect_backward();
    if (backward_.empty()) return {};
    collect_steps();
    if (steps_.empty()) return {};
    collect_pieces();
    std::vector<Interval> closures;
    for (const auto& [step, pieces] : steps_) {
      add_closures(interval_of(trace_, step).begin_ns, pieces, closures);
    }
    return merge(std::move(closures));
  }

 private:
  [[nodiscard]] bool is(SliceId slice, NameKind kind) const {
    return names_.is(trace_.slices().name[slice.value], kind);
  }

  [[nodiscard]] bool is_around(SliceId slice, uint8_t kinds) const {
    const SliceId parent = tree_.parent[slice.value];
    return parent && (tree_.kinds_around[parent.value] & kinds) != 0;
  }

  // Looks at all threads, because a backward pass on a GPU runs on its own thread, for which the
  // step waits.
  void collect_backward() {
    std::vector<Interval> nodes;
    std::vector<Interval> collectives;
    for_each_slice(trace_, [&](SliceId slice, Category category) {
      if (!is_host_node(category)) return;
      if (is(slice, kBackwardName)) nodes.push_back(interval_of(trace_, slice));
      if (is_host_collective(name_of(trace_, slice))) {
        collectives.push_back(interval_of(trace_, slice));
      }
    });
    backward_ = merge(std::move(nodes));
    collectives_ = merge(std::move(collectives));
  }

  void collect_steps() {
    for_each_slice(trace_, [&](SliceId slice, Category category) {
      if (!is_host_node(category) || !is(slice, kOptimizerName)) return;
      // A step within a backward pass belongs to an optimizer that runs in backward hooks.
      if (is_around(slice, kOptimizerName | kBackwardName)) return;
      const Interval interval = interval_of(trace_, slice);
      if (total_within_ns(backward_, interval) > 0) steps_[slice];
    });
  }

  // Collects the outermost operators within each step, and the backward passes and collectives that
  // overlap it.
  void collect_pieces() {
    for_each_slice(trace_, [&](SliceId slice, Category category) {
      if (category != Category::kCpuOp || is(slice, kBackwardName)) return;
      if ((tree_.kinds_around[slice.value] & kOptimizerName) == 0) return;
      if (is_around(slice, kBackwardName)) return;
      const auto step = steps_.find(step_around(slice));
      if (step == steps_.end()) return;
      step->second.push_back({interval_of(trace_, slice), part_of(slice)});
    });
    for (auto& [step, pieces] : steps_) {
      const Intervals whole = {interval_of(trace_, step)};
      for (const Interval& part : intersect(backward_, whole)) {
        pieces.push_back({part, Part::kBackward});
      }
      for (const Interval& part : intersect(collectives_, whole)) {
        pieces.push_back({part, Part::kCollective});
      }
      std::ranges::sort(pieces, {}, [](const Piece& piece) { return piece.interval.begin_ns; });
    }
  }

  [[nodiscard]] Part part_of(SliceId op) const {
    if (name_of(trace_, op).starts_with(kReducer)) return Part::kBackward;
    const bool recorded_by_autograd = Args(trace_, op).integer("Sequence number").has_value();
    return recorded_by_autograd ? Part::kForward : Part::kUpdate;
  }

  // The optimizer's step around a slice; none() if an operator or another of the optimizer's
  // annotations lies between.
  [[nodiscard]] SliceId step_around(SliceId slice) const {
    SliceId at = tree_.parent[slice.value];
    while (at && !is(at, kOptimizerName)) {
      if (trace_.slices().category[at.value] == Category::kCpuOp) return {};
      at = tree_.parent[at.value];
    }
    return at;
  }

  // From the first forward operator to the end of the backward pass. Operators that autograd does
  // not record lie between these two (the gradient of the loss), but none between two nodes of
  // autograd. A collective that began in the pass belongs to it: DDP waits for it at the end. What
  // Python does before the first operator is the closure's, too: optimizers call it first.
  static void add_closures(int64_t step_begin_ns, const std::vector<Piece>& pieces,
                           std::vector<Interval>& closures) {
    std::optional<int64_t> forward_ns;
    const Part first = pieces.front().part;
    if (first == Part::kForward || first == Part::kBackward) forward_ns = step_begin_ns;
    bool is_open = false;
    for (const Piece& piece : pieces) {
      if (piece.part == Part::kForward) {
        if (!forward_ns) forward_ns = piece.interval.begin_ns;
      } else if (piece.part == Part::kUpdate) {
        is_open = is_open && forward_ns;
      } else if (is_open) {
        closures.back().end_ns = std::max(closures.back().end_ns, piece.interval.end_ns);
        if (piece.part == Part::kBackward) forward_ns.reset();
      } else if (piece.part == Part::kBackward) {
        closures.push_back({forward_ns.value_or(piece.interval.begin_ns), piece.interval.end_ns});
        is_open = true;
        forward_ns.reset();
      }
    }
  }

  const Trace& trace_;
  const NameKinds& names_;
  const HostTree& tree_;
  Intervals backward_;
  Intervals collectives_;
  std::map<SliceId, std::vector<Piece>> steps_;
};

}  // namespace

Intervals find_optimizer_closures(const Trace& trace, const NameKinds& names,
                                  const HostTree& tree) {
  return ClosureFinder(trace, names, tree).find();
}

}  // namespace redline::trace
