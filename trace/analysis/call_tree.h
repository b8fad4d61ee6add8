// Who caused the work of a step: modules, in them the operators that they call, and the GPU work of
// these. One tree of all traces and steps, by names, so that the trees of two runs can be compared.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/analysis/analysis.h"
#include "trace/analysis/modules.h"

namespace redline::trace {

/// Means a step and rank.
struct CallWork {
  double count = 0;
  double ns = 0;

  CallWork& operator+=(const CallWork& other);
};

struct CallNode {
  /// A module's own name within the one around it. Of an operator, that of the outermost one, of a
  /// node of autograd, or of the call that launched work.
  std::string name;
  std::string type;                        ///< of a module; empty for operators
  ModulePass pass = ModulePass::kForward;  ///< of an operator
  size_t parent = 0;
  std::vector<size_t> children = {};
  double calls = 0;
  double host_ns = 0;                         ///< of an operator
  std::map<std::string, CallWork> work = {};  ///< of an operator: what it launched, by name

  [[nodiscard]] bool is_module() const { return !type.empty(); }
};

struct CallTree {
  std::vector<CallNode> nodes;  ///< a node stands behind its parent; the first is the step
  bool has_gpu = false;
  bool has_marked_steps = false;  ///< else the first node is the whole trace

  /// What `node` and all in it took in a pass: of GPU work, or of the host's time.
  [[nodiscard]] CallWork taken(size_t node, ModulePass pass, bool of_gpu) const;
};

/// The type of the node that holds what optimizers do.
constexpr std::string_view kOptimizerType = "Optimizer";
/// The name of the node for GPU work that no call in the trace launched.
constexpr std::string_view kWorkWithoutLaunch = "work without a launch in the trace";

/// Modules whose names differ only in a number are one. Only of steps, if the traces have any.
/// Modules that only wrap another one, as DistributedDataParallel does, are left out, so that what
/// they wrap is found in both runs.
[[nodiscard]] CallTree call_tree(std::span<const Analysis> traces);

}  // namespace redline::trace
