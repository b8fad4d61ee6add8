#include "trace/analysis/modules.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/statistics.h"
#include "trace/analysis/module_calls.h"
#include "trace/model/slice_view.h"
#include "trace/read/args.h"

namespace redline::trace {
namespace {

constexpr uint32_t kProcess = 0;
constexpr size_t kModuleKernels = 8;

class ModuleTreeBuilder {
 public:
  ModuleTreeBuilder(const Trace& trace, const DeviceWorkTable& device, const OperatorShapes& shapes,
                    const std::vector<MemoryEvent>& memory)
      : trace_(trace), device_(device), shapes_(shapes), memory_(memory), calls_(trace) {}

  ModuleTree build() {
    tree_.nodes.emplace_back();
    place_calls();
    read_names();
    for (uint32_t i = 0; i < calls_.all().size(); ++i) add_call(i);
    for (const DeviceWork& work : device_.rows) add_device_work(work);
    for (const ShapeCall& call : shapes_.calls) add_flops(call);
    add_memory();
    add_exposed_time();
    add_up();
    return std::move(tree_);
  }

 private:
  // Calls outside of backward passes make the nodes. A call within a backward pass is a second one
  // of a module that has a node.
  void place_calls() {
    tree_.of_call.resize(calls_.all().size());
    for (uint32_t i = 0; i < tree_.of_call.size(); ++i) {
      const ModuleCall& call = calls_.all()[i];
      if (call.is_autograd || call.is_within_autograd) continue;
      const uint32_t around =
          call.parent == ModuleCall::kNone ? kProcess : tree_.of_call[call.parent].node;
      tree_.of_call[i] = {child_of(around, call.slice), ModulePass::kForward};
    }
    for (uint32_t i = 0; i < tree_.of_call.size(); ++i) {
      const ModuleCall& call = calls_.all()[i];
      if (call.is_autograd || !call.is_within_autograd) continue;
      tree_.of_call[i] = {node_again(call), ModulePass::kRecomputation};
    }
    for (uint32_t i = 0; i < tree_.of_call.size(); ++i) {
      const ModuleCall& call = calls_.all()[i];
      if (!call.is_autograd) continue;
      const uint32_t forward = call.forward ? calls_.around(call.forward) : ModuleCall::kNone;
      tree_.of_call[i] = {forward == ModuleCall::kNone ? kProcess : tree_.of_call[forward].node,
                          ModulePass::kBackward};
    }
  }

  [[nodiscard]] uint32_t node_again(const ModuleCall& call) {
    if (call.parent != ModuleCall::kNone && !calls_.all()[call.parent].is_autograd) {
      return child_of(tree_.of_call[call.parent].node, call.slice);
    }
    const auto known = first_node_.find(trace_.slices().name[call.slice.value]);
    return known != first_node_.end() ? known->second : child_of(kProcess, call.slice);
  }

  uint32_t child_of(uint32_t parent, SliceId frame) {
    const StringId name = trace_.slices().name[frame.value];
    const auto [known, is_new] =
        node_of_.try_emplace(std::pair(parent, name), static_cast<uint32_t>(tree_.nodes.size()));
    if (is_new) {
      add_node(parent, trace_.string(name));
      last_frame_.push_back(frame);
      first_node_.emplace(name, known->second);
    } else {
      last_frame_[known->second - 1] = frame;
    }
    return known->second;
  }

  void add_node(uint32_t parent, std::string_view frame_name) {
    ModuleNode node;
    const size_t colon = frame_name.find(": ");
    const bool is_module = is_module_name(frame_name);
    const size_t split = is_module ? frame_name.rfind('_') : colon;
    const size_t type_begin = is_module ? colon + 2 : 0;
    node.type = frame_name.substr(type_begin, split - type_begin);
    node.number = frame_name.substr(std::min(frame_name.size(), split + (is_module ? 1 : 2)));
    node.parent = parent;
    node.depth = tree_.nodes[parent].depth + 1;
    tree_.nodes.push_back(std::move(node));
  }

  // A module gets another name if a larger model calls it later; the last one counts.
  void read_names() {
    TextCursor text(trace_);
    for (size_t i = 0; i < last_frame_.size(); ++i) {
      const std::array<std::string_view, 1> key = {"Module name"};
      std::array<std::string_view, 1> value;
      find_args(text.text_from(last_frame_[i]), key, value);
      if (value[0].empty()) continue;
      tree_.has_names = true;
      tree_.nodes[i + 1].name = Args(text.event_text(text.offset_of(last_frame_[i]))).text(key[0]);
    }
  }

  [[nodiscard]] ModuleWork& self_of(ModulePlace place) {
    return tree_.nodes[place.node].self[static_cast<size_t>(place.pass)];
  }
  [[nodiscard]] ModulePlace place_of(uint32_t call) const {
    return call == ModuleCall::kNone ? ModulePlace{} : tree_.of_call[call];
  }

  void add_call(uint32_t index) {
    ModuleWork& work = self_of(tree_.of_call[index]);
    ++work.calls;
    work.host_ns += calls_.all()[index].self_ns;
  }

  void add_device_work(const DeviceWork& work) {
    ModulePlace place = work.launch ? place_of(calls_.around(work.launch)) : ModulePlace{};
    // DDP reduces the gradients of many modules when that of the last one is there.
    if (work.is_communication && place.pass == ModulePass::kBackward) place.node = kProcess;
    tree_.of_work.push_back(place);
    self_of(place).device_ns += work.interval.length_ns();
    std::vector<ShapeKernel>& kernels = tree_.nodes[place.node].kernels;
    const uint64_t key = (uint64_t{place.node} << 32U) | work.name.value;
    const auto [known, is_new] = kernel_of_.try_emplace(key, kernels.size());
    if (is_new) kernels.push_back({work.name});
    ++kernels[known->second].count;
    kernels[known->second].total_ns += work.interval.length_ns();
  }

  void add_flops(const ShapeCall& call) {
    ModuleWork& work = self_of(place_of(calls_.around(call.slice)));
    work.flops = saturating_sum(work.flops, shapes_.rows[call.row].work.flops.value_or(0));
  }

  void add_memory() {
    const bool has_gpu = std::ranges::any_of(memory_, &MemoryEvent::is_gpu);
    tree_.has_memory = !memory_.empty();
    for (const MemoryEvent& event : memory_) {
      if (event.is_gpu != has_gpu) continue;
      const ModulePlace place = place_of(calls_.at(event.track, event.time_ns));
      if (place.pass != ModulePass::kForward) continue;
      ModuleNode& node = tree_.nodes[place.node];
      node.kept_bytes = saturating_sum(node.kept_bytes, event.bytes);
      if (event.bytes > 0) {
        node.allocated_bytes = saturating_sum(node.allocated_bytes, event.bytes);
      }
    }
  }

  [[nodiscard]] uint32_t common(uint32_t left, uint32_t right) const {
    while (left != right) {
      uint32_t& deeper = left > right ? left : right;  // a parent has a smaller index
      deeper = tree_.nodes[deeper].parent;
    }
    return left;
  }

  // Time with work of several modules is exposed time of the innermost module around them all.
  void add_exposed_time() {
    struct Edge {
      int64_t time_ns;
      uint32_t node;
      bool is_begin;
    };
    std::vector<Edge> edges;
    for (size_t i = 0; i < device_.rows.size(); ++i) {
      const Interval interval = device_.rows[i].interval;
      if (interval.length_ns() <= 0) continue;
      edges.push_back({interval.begin_ns, tree_.of_work[i].node, true});
      edges.push_back({interval.end_ns, tree_.of_work[i].node, false});
    }
    std::ranges::sort(edges, {}, &Edge::time_ns);
    std::vector<uint32_t> running;
    for (size_t i = 0; i < edges.size(); ++i) {
      if (!running.empty() && edges[i].time_ns > edges[i - 1].time_ns) {
        uint32_t node = running.front();
        for (const uint32_t other : running) node = common(node, other);
        tree_.nodes[node].exposed_ns += edges[i].time_ns - edges[i - 1].time_ns;
      }
      if (edges[i].is_begin) {
        running.push_back(edges[i].node);
      } else {
        running.erase(std::ranges::find(running, edges[i].node));
      }
    }
  }

  void add_up() {
    std::vector<ModuleNode>& nodes = tree_.nodes;
    for (ModuleNode& node : nodes) {
      node.total = node.self;
      std::ranges::stable_sort(node.kernels, std::greater(), &ShapeKernel::total_ns);
      if (node.kernels.size() > kModuleKernels) node.kernels.resize(kModuleKernels);
    }
    for (size_t i = nodes.size(); i-- > 1;) {
      const ModuleNode& node = nodes[i];
      ModuleNode& parent = nodes[node.parent];
      for (size_t pass = 0; pass < kModulePassCount; ++pass) {
        const int64_t own_calls = parent.total[pass].calls;
        parent.total[pass] += node.total[pass];
        parent.total[pass].calls = own_calls;
      }
      parent.exposed_ns += node.exposed_ns;
      parent.allocated_bytes = saturating_sum(parent.allocated_bytes, node.allocated_bytes);
      parent.kept_bytes = saturating_sum(parent.kept_bytes, node.kept_bytes);
    }
  }

  const Trace& trace_;
  const DeviceWorkTable& device_;
  const OperatorShapes& shapes_;
  const std::vector<MemoryEvent>& memory_;
  const ModuleCalls calls_;
  ModuleTree tree_;
  std::vector<SliceId> last_frame_;                            // by node, without the first
  std::map<std::pair<uint32_t, StringId>, uint32_t> node_of_;  // by parent and frame
  std::unordered_map<StringId, uint32_t> first_node_;          // by frame
  std::unordered_map<uint64_t, size_t> kernel_of_;             // by node and name
};

}  // namespace

ModuleWork& ModuleWork::operator+=(const ModuleWork& other) {
  calls += other.calls;
  host_ns += other.host_ns;
  device_ns += other.device_ns;
  flops = saturating_sum(flops, other.flops);
  return *this;
}

ModuleWork ModuleNode::sum_of(const ModulePasses& passes) {
  ModuleWork sum;
  for (const ModuleWork& pass : passes) sum += pass;
  return sum;
}

std::string ModuleNode::label(const ModuleNode& around) const {
  if (name.empty()) return type + (type.find(' ') == std::string::npos ? "_" : " ") + number;
  const std::string prefix = around.name.empty() ? "" : around.name + ".";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::string ModuleNode::frame() const {
  const bool is_module = type.find(' ') == std::string::npos;
  return is_module ? "nn.Module: " + type + "_" + number : type + ": " + number;
}

ModuleTree module_tree(const Trace& trace, const DeviceWorkTable& device,
                       const OperatorShapes& shapes, const std::vector<MemoryEvent>& memory) {
  if (!has_modules(trace)) return {};
  return ModuleTreeBuilder(trace, device, shapes, memory).build();
}

}  // namespace redline::trace
