// All results about one trace, computed once; advice and viewer only read them.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/analysis/communication.h"
#include "trace/analysis/device_work.h"
#include "trace/analysis/host_tree.h"
#include "trace/analysis/rank_summary.h"
#include "trace/model/model.h"
#include "trace/read/recorded_facts.h"

namespace redline::trace {

/// All results about one trace that is loaded: its summary, and what only the trace can give.
struct Analysis : RankSummary {
  std::shared_ptr<const Trace> trace;
  DeviceWorkTable device_work;
  HostTree host_tree;
  Communication communication;
  bool is_cancelled = false;  ///< if so, other fields may be missing
};

/// The summary with its names in a table of its own or of all ranks, and without what counts single
/// events: so the trace can be dropped.
[[nodiscard]] RankSummary detached(RankSummary summary, std::shared_ptr<StringTable> names);

/// Runs on `threads` threads, two at most. Setting `cancel`, from any thread, makes it stop soon.
[[nodiscard]] Analysis analyze(std::shared_ptr<const Trace> trace,
                               const std::atomic<bool>* cancel = nullptr, unsigned threads = 2);

/// RankSummary::unrecorded_gpu. A machine may have a GPU that the process does not use, so its
/// properties are no proof. Nor are waits for the GPU: torch.profiler itself waits for it.
[[nodiscard]] std::optional<std::string> unrecorded_gpu(const Trace& trace,
                                                        const RecordedFacts& recorded,
                                                        const DeviceWorkTable& work,
                                                        std::span<const MemoryEvent> memory);

/// Of the GPU that did all the work; of the CPU if none did any. Unknown if several did.
[[nodiscard]] DevicePeaks peaks_of(const Trace& trace, const RecordedFacts& recorded,
                                   const std::vector<DeviceProperties>& devices,
                                   const DeviceWorkTable& work);

}  // namespace redline::trace
