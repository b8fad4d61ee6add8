// Operators by the shapes of their inputs: how often each was called, what one call takes, and the
// GPU work that it launched.
//
// A row is an operator with a formula, the outermost one where several are inside each other, with
// all GPU work launched inside it. What others launch belongs to the innermost operator around it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/analysis/device_work.h"
#include "trace/analysis/host_tree.h"
#include "trace/analysis/operator_formulas.h"
#include "trace/analysis/steps.h"
#include "trace/model/model.h"

namespace redline::trace {

struct ShapeKernel {
  StringId name;
  int64_t count = 0;
  int64_t total_ns = 0;
};

struct OperatorShape {
  StringId name;
  std::string input_dims;   ///< JSON, as the trace has it; empty where it has none
  std::string input_types;  ///< JSON, as the trace has it
  int64_t count = 0;
  int64_t step_count = 0;  ///< of these, how many began within a step
  /// Calls of a forward pass that ran again within backward, as activation checkpointing does.
  int64_t recomputed_count = 0;
  int64_t recomputed_step_count = 0;  ///< of these, how many began within a step
  int64_t recomputed_ns = 0;          ///< of taken_ns()
  OperatorWork work;                  ///< of one call
  /// GPU work launched inside all calls; nullopt in a trace without GPU work.
  std::optional<int64_t> device_ns;
  int64_t host_ns = 0;               ///< of all calls, on their threads
  std::vector<ShapeKernel> kernels;  ///< the longest total first

  /// What the device took that computed it: the GPU or, in a trace without GPU work, the CPU.
  [[nodiscard]] int64_t taken_ns() const { return device_ns.value_or(host_ns); }
};

/// A call of a row's operator.
struct ShapeCall {
  SliceId slice;
  uint32_t row = 0;
  bool is_recomputed = false;
};

struct OperatorShapes {
  static constexpr uint32_t kNoRow = UINT32_MAX;

  std::vector<OperatorShape> rows;  ///< the longest GPU time first
  std::vector<ShapeCall> calls;     ///< of all rows
  /// By row of the DeviceWorkTable: the row here that it belongs to, or kNoRow.
  std::vector<uint32_t> row_of_work;
  /// GPU work that no operator launched, such as that of CUDA graphs; collectives are left out.
  int64_t outside_ns = 0;
};

/// Empty where the trace was recorded without shapes.
[[nodiscard]] OperatorShapes operator_shapes(const Trace& trace, const DeviceWorkTable& device,
                                             const HostTree& tree, const std::vector<Step>& steps);

}  // namespace redline::trace
