// The modules of all traces as one short tree: modules of one class whose names differ only in a
// number ("layers.0" to "layers.11") are one row, and so are the modules inside them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/analysis/analysis.h"
#include "trace/analysis/modules.h"

namespace redline::trace {

struct ModuleRow {
  std::string label;  ///< "layers.*", "attn.q_proj"; "Linear" where names are not known
  std::string type;
  std::string frame;  ///< of the calls of its first module: "nn.Module: Linear_0"
  uint32_t depth = 0;
  int64_t modules = 0;  ///< of all traces
  ModulePasses self = {};
  ModulePasses total = {};
  int64_t exposed_ns = 0;
  int64_t allocated_bytes = 0;
  int64_t kept_bytes = 0;
};

struct ModuleRows {
  /// A row stands behind the one that it is in; of the rows in one, the longest first. The first is
  /// the whole process. Empty without modules.
  std::vector<ModuleRow> rows;
  bool has_gpu = false;  ///< else the host's times tell what modules took
  bool has_names = false;
  bool has_memory = false;
  bool has_flops = false;

  /// What a row or a part of it took, by has_gpu.
  [[nodiscard]] int64_t time_ns(const ModuleWork& work) const {
    return has_gpu ? work.device_ns : work.host_ns;
  }
  [[nodiscard]] int64_t time_ns(const ModulePasses& passes) const {
    return time_ns(ModuleNode::sum_of(passes));
  }
};

/// What the modules of a row have in common: "layers.*" of "layers.3"; the class where names are
/// not known. The layers of a Sequential keep their numbers, for each does something else.
[[nodiscard]] std::string kind_label(const std::vector<ModuleNode>& nodes, size_t index);

[[nodiscard]] ModuleRows module_rows(std::span<const RankSummary> traces);

}  // namespace redline::trace
