// The tables of tables.h (and from tables.cc) for a part of the recording, such as a step.
#pragma once

#include <vector>

#include "base/intervals.h"
#include "trace/analysis/tables.h"

namespace redline::trace {

[[nodiscard]] inline bool is_within(Interval time, int64_t begin_ns) {
  return time.begin_ns <= begin_ns && begin_ns < time.end_ns;
}

/// Kernels that began within the time.
[[nodiscard]] std::vector<KernelRow> kernel_table_within(const Trace& trace,
                                                         const DeviceWorkTable& device,
                                                         Interval time);
/// Operators that began within the time, with all that they launched.
[[nodiscard]] std::vector<OperatorRow> operator_table_within(const Trace& trace,
                                                             const NameKinds& names,
                                                             const DeviceWorkTable& device,
                                                             const HostTree& tree, Interval time);

}  // namespace redline::trace
