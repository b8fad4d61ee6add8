// When training waits for a batch.
#pragma once

#include "base/intervals.h"
#include "trace/analysis/host_tree.h"
#include "trace/model/model.h"

namespace redline::trace {

/// The time within `within` that DataLoaders take, by the annotations that torch makes. A loader
/// that a thread of its own reads ahead (as MONAI's ThreadDataLoader does) is not waited for while
/// operators run elsewhere: its time counts where none do. Such a thread marks no steps.
[[nodiscard]] Intervals loader_waits(const Trace& trace, const HostTree& tree,
                                     const Intervals& within);

}  // namespace redline::trace
