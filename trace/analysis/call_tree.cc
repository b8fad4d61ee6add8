#include "trace/analysis/call_tree.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "trace/analysis/module_calls.h"
#include "trace/analysis/module_rows.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr size_t kWholeStep = 0;

bool is_wrapper(std::string_view type) {
  constexpr std::array kWrappers = {
      std::string_view("DistributedDataParallel"), std::string_view("DataParallel"),
      std::string_view("FullyShardedDataParallel"), std::string_view("OptimizedModule")};
  return std::ranges::find(kWrappers, type) != kWrappers.end();
}

class CallTreeBuilder {
 public:
  explicit CallTreeBuilder(std::span<const Analysis> traces) {
    tree_.nodes.push_back({.name = "step", .type = "step"});
    tree_.has_marked_steps = !traces.empty() && traces.front().has_marked_steps();
    for (const Analysis& analysis : traces) tree_.has_gpu |= !analysis.device_work.rows.empty();
    for (const Analysis& analysis : traces) {
      TraceCalls(*this, analysis, static_cast<double>(traces.size())).add();
    }
  }

  CallTree take() { return std::move(tree_); }

 private:
  // The calls of one trace.
  class TraceCalls {
   public:
    TraceCalls(CallTreeBuilder& builder, const Analysis& analysis, double traces)
        : builder_(builder),
          analysis_(analysis),
          trace_(*analysis.trace),
          calls_(trace_),
          weight_(1 / traces / std::max(1.0, static_cast<double>(analysis.steps.size()))),
          optimizer_(builder.child_of(kWholeStep, "", kOptimizerType, ModulePass::kForward)) {}

    void add() {
      place_modules();
      for_each_slice(trace_, [&](SliceId slice, Category category) {
        if (category != Category::kCpuOp || !is_in_step(slice) || unit_around(slice) != slice) {
          return;
        }
        CallNode& node = builder_.tree_.nodes[node_of(slice, slice)];
        node.calls += weight_;
        node.host_ns += weight_ * static_cast<double>(duration_ns(trace_, slice));
      });
      for (const DeviceWork& work : analysis_.device_work.rows) add_work(work);
    }

   private:
    void place_modules() {
      const std::vector<ModuleNode>& nodes = analysis_.modules.nodes;
      module_.assign(std::max<size_t>(1, nodes.size()), kWholeStep);
      std::vector<std::string> names(module_.size());
      for (size_t i = 1; i < nodes.size(); ++i) {
        const ModuleNode& node = nodes[i];
        const bool is_wrapped = node.parent != 0 && is_wrapper(nodes[node.parent].type);
        const size_t around = module_[node.parent];
        names[i] = is_wrapped ? names[node.parent] : kind_label(nodes, i);
        // Whoever calls a model, it is known by its class.
        const std::string& name =
            around == kWholeStep && !is_wrapper(node.type) ? node.type : names[i];
        module_[i] = is_wrapper(node.type)
                         ? around
                         : builder_.child_of(around, name, node.type, ModulePass::kForward);
        const double calls = static_cast<double>(node.self[0].calls);
        if (module_[i] != around) builder_.tree_.nodes[module_[i]].calls += weight_ * calls;
      }
    }

    [[nodiscard]] bool is_in_step(SliceId slice) const {
      const int64_t begin_ns = trace_.slices().begin_ns[slice.value];
      return analysis_.steps.empty() || step_at(analysis_.steps, &Step::host, begin_ns) != nullptr;
    }

    // The outermost operator around a slice within its call of a module, or its node of autograd;
    // the slice itself if there is none.
    [[nodiscard]] SliceId unit_around(SliceId slice) const {
      const uint32_t call = calls_.around(slice);
      if (call != ModuleCall::kNone && calls_.all()[call].is_autograd) {
        return calls_.all()[call].slice;
      }
      const int64_t since_ns = call == ModuleCall::kNone
                                   ? INT64_MIN
                                   : interval_of(trace_, calls_.all()[call].slice).begin_ns;
      SliceId unit = slice;
      for (SliceId at = analysis_.host_tree.parent[slice.value]; at;
           at = analysis_.host_tree.parent[at.value]) {
        if (trace_.slices().begin_ns[at.value] < since_ns) break;
        if (trace_.slices().category[at.value] == Category::kCpuOp) unit = at;
      }
      return unit;
    }

    // The node of the unit that a slice belongs to.
    size_t node_of(SliceId slice, SliceId unit) {
      const uint32_t call = calls_.around(slice);
      const bool has_place = call != ModuleCall::kNone && call < analysis_.modules.of_call.size();
      ModulePlace place = has_place ? analysis_.modules.of_call[call] : ModulePlace{};
      if (call != ModuleCall::kNone && calls_.all()[call].is_autograd) {
        place.pass = ModulePass::kBackward;
      }
      size_t around = module_[place.node];
      if (around == kWholeStep &&
          (analysis_.host_tree.kinds_around[unit.value] & kOptimizerName) != 0) {
        around = optimizer_;
      }
      std::string_view name = name_of(trace_, unit);
      if (name.starts_with(kAutogradNodeName)) name.remove_prefix(kAutogradNodeName.size());
      return builder_.child_of(around, name, "", place.pass);
    }

    [[nodiscard]] bool is_in_step(const DeviceWork& work) const {
      if (work.launch) return is_in_step(work.launch);
      return analysis_.steps.empty() ||
             step_at(analysis_.steps, &Step::window, work.interval.begin_ns) != nullptr;
    }

    void add_work(const DeviceWork& work) {
      if (!is_in_step(work)) return;
      const size_t node =
          work.launch ? node_of(work.launch, unit_around(work.launch))
                      : builder_.child_of(kWholeStep, kWorkWithoutLaunch, "", ModulePass::kForward);
      const double ns = static_cast<double>(work.interval.length_ns());
      builder_.tree_.nodes[node].work[std::string(trace_.string(work.name))] +=
          CallWork{weight_, weight_ * ns};
    }

    CallTreeBuilder& builder_;
    const Analysis& analysis_;
    const Trace& trace_;
    const ModuleCalls calls_;
    const double weight_;
    const size_t optimizer_;
    std::vector<size_t> module_;  // node here, by node of the ModuleTree
  };

  size_t child_of(size_t parent, std::string_view name, std::string_view type, ModulePass pass) {
    const auto [known, is_new] = nodes_.try_emplace(
        std::tuple(parent, std::string(type), std::string(name), pass), tree_.nodes.size());
    if (is_new) {
      tree_.nodes.push_back(
          {.name = std::string(name), .type = std::string(type), .pass = pass, .parent = parent});
      tree_.nodes[parent].children.push_back(known->second);
    }
    return known->second;
  }

  CallTree tree_;
  std::map<std::tuple<size_t, std::string, std::string, ModulePass>, size_t> nodes_;
};

}  // namespace

CallWork& CallWork::operator+=(const CallWork& other) {
  count += other.count;
  ns += other.ns;
  return *this;
}

CallWork CallTree::taken(size_t index, ModulePass pass, bool of_gpu) const {
  const CallNode& node = nodes[index];
  CallWork sum;
  if (!node.is_module() && node.pass == pass) {
    if (of_gpu) {
      for (const auto& [name, work] : node.work) sum += work;
    } else {
      sum = {node.calls, node.host_ns};
    }
  }
  for (const size_t child : node.children) sum += taken(child, pass, of_gpu);
  return sum;
}

CallTree call_tree(std::span<const Analysis> traces) { return CallTreeBuilder(traces).take(); }

}  // namespace redline::trace
