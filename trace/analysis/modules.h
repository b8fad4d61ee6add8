// A model's modules as a tree: what the calls of each took on the host and the GPUs, forward and
// backward.
//
// The tree is made of the frames "nn.Module: Linear_0", which `redline record --modules`,
// `--stacks` and torch.profiler's with_stack write. Work belongs to the innermost call of a module
// around its launch. A node of autograd belongs to the call that made it, by the arrow between the
// two; a node that adds up a gradient belongs to the one before it, because autograd runs it at
// once. A call within a node of autograd is activation checkpointing, which computes the module
// again. Collectives that a node of autograd starts belong to no module: they reduce gradients of
// many.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/analysis/device_work.h"
#include "trace/analysis/memory.h"
#include "trace/analysis/operator_shapes.h"
#include "trace/model/model.h"

namespace redline::trace {

enum class ModulePass : uint8_t { kForward, kBackward, kRecomputation };
inline constexpr size_t kModulePassCount = 3;
inline constexpr std::array<std::string_view, kModulePassCount> kModulePassNames = {
    "forward", "backward", "recomputation"};

struct ModuleWork {
  int64_t calls = 0;  ///< of the module; in backward passes, nodes of autograd
  int64_t host_ns = 0;
  int64_t device_ns = 0;  ///< GPU work, launched by it
  int64_t flops = 0;      ///< of operators with known shapes and a formula

  ModuleWork& operator+=(const ModuleWork& other);
  bool operator==(const ModuleWork&) const = default;
};
using ModulePasses = std::array<ModuleWork, kModulePassCount>;

struct ModuleNode {
  /// As model.named_modules() has it, such as "layers.3.attn"; empty for the model itself, and
  /// where the trace does not tell.
  std::string name;
  std::string type;     ///< its class, such as "Linear"; "Torch-Compiled Region" for compiled code
  std::string number;   ///< tells it from others of its class
  uint32_t parent = 0;  ///< index in ModuleTree::nodes
  uint32_t depth = 0;
  ModulePasses self;                 ///< without modules inside it; calls are its own
  ModulePasses total;                ///< with them, but for calls
  int64_t exposed_ns = 0;            ///< total time in which no work of others ran on the GPUs
  int64_t allocated_bytes = 0;       ///< within its forward calls
  int64_t kept_bytes = 0;            ///< the same without what was released within them
  std::vector<ShapeKernel> kernels;  ///< of its own work, the longest total first

  /// What to call it where its parent is known: "3.attn" within "layers", else "Linear_5".
  [[nodiscard]] std::string label(const ModuleNode& around) const;
  /// The name of its calls in the trace: "nn.Module: Linear_0".
  [[nodiscard]] std::string frame() const;
  [[nodiscard]] ModuleWork all() const { return sum_of(total); }
  [[nodiscard]] static ModuleWork sum_of(const ModulePasses& passes);
};

/// Where work counts.
struct ModulePlace {
  uint32_t node = 0;
  ModulePass pass = ModulePass::kForward;
};

struct ModuleTree {
  /// A node stands behind its parent, children in the order of their first call. The first one is
  /// the whole process: its own work is outside of all modules. Empty if the trace has no modules.
  std::vector<ModuleNode> nodes;
  std::vector<ModulePlace> of_call;  ///< by index in ModuleCalls (module_calls.h)
  std::vector<ModulePlace> of_work;  ///< by row of the DeviceWorkTable
  bool has_names = false;            ///< not only classes with numbers
  bool has_memory = false;           ///< allocations were recorded
};

/// Of `memory` only the events of GPUs count, if there are any.
[[nodiscard]] ModuleTree module_tree(const Trace& trace, const DeviceWorkTable& device,
                                     const OperatorShapes& shapes,
                                     const std::vector<MemoryEvent>& memory);

}  // namespace redline::trace
