// Two runs compared by their call trees: modules and the operators in them are matched by name, so
// the kernels may have other names, as on another GPU, with another torch or with torch.compile.
//
// What has no match within matched modules is compared as one group: many pieces of work for which
// fewer came are fused. Each nanosecond of the change is in exactly one row.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "trace/analysis/call_tree.h"
#include "trace/report/report.h"

namespace redline::trace {

enum class TreeChange : uint8_t {
  kSame,   ///< the same work, faster or slower
  kOther,  ///< as many pieces of work, with other names
  kFused,  ///< fewer pieces of work
  kSplit,  ///< more
  kNew,
  kGone,
};
[[nodiscard]] const char* change_name(TreeChange change);

struct TreeSide {
  std::vector<std::string> names;    ///< of operators and modules, the longest first
  std::vector<std::string> kernels;  ///< what they launched, the longest first
  CallWork work;                     ///< of one step, or of a trace without marked steps
};

struct TreeDiffRow {
  std::string place;  ///< the matched module: "GPT.layers.*.mlp"; empty: outside of modules
  ModulePass pass = ModulePass::kForward;
  TreeChange change = TreeChange::kSame;
  TreeSide before;
  TreeSide after;

  [[nodiscard]] double delta_ns() const { return after.work.ns - before.work.ns; }
};

struct TreeDiff {
  std::vector<TreeDiffRow> rows;  ///< the largest change first
  CallWork before;                ///< of all rows
  CallWork after;
  bool has_gpu = false;               ///< of both runs; else times are those of the host
  bool has_modules = false;           ///< of both runs; else operators are matched without them
  std::string basis;                  ///< what the work is that of: "a step", "the trace"
  std::vector<std::string> warnings;  ///< what only one side has
};

[[nodiscard]] TreeDiff compare_trees(const CallTree& before, const CallTree& after);
[[nodiscard]] TreeDiff compare_trees(const Report& before, const Report& after);

/// "GPU time of a step": what the times of the rows are.
[[nodiscard]] std::string time_words(const TreeDiff& diff);
/// "GPT.layers.*.mlp, backward"
[[nodiscard]] std::string place_text(const TreeDiffRow& row);
/// Where the time went: "fused -3.1 ms, same +0.2 ms".
[[nodiscard]] std::string change_sums_text(const TreeDiff& diff);

[[nodiscard]] std::string tree_diff_text(const TreeDiff& diff, const TextStyle& style,
                                         const TextScope& scope);
/// The member "tree" of redline.diff/1.
[[nodiscard]] nlohmann::ordered_json tree_diff_json(const TreeDiff& diff);

}  // namespace redline::trace
