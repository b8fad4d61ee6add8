// Everything that a report says of one trace, computed once.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "trace/breakdown.h"
#include "trace/communication.h"
#include "trace/critical_path.h"
#include "trace/device_work.h"
#include "trace/gpus.h"
#include "trace/host_tree.h"
#include "trace/memory.h"
#include "trace/model.h"
#include "trace/phases.h"
#include "trace/sequences.h"
#include "trace/steps.h"
#include "trace/stop_watch.h"
#include "trace/streams.h"
#include "trace/tables.h"

namespace redline::trace {

struct Analysis {
  std::shared_ptr<const Trace> trace;
  std::vector<Step> steps;
  StepTimes step_times;
  StepBreakdown breakdown;
  std::optional<PhaseTimes> phases;
  std::vector<DeviceProperties> devices;  ///< of the machine, used or not
  DeviceTable device_work;
  std::vector<GpuUse> gpus;  ///< that did something
  std::vector<KernelRow> kernels;
  std::vector<OperatorRow> operators;
  HostTree host_tree;
  std::vector<CopyRow> copies;
  Communication communication;
  std::optional<LaunchStatistics> launches;
  std::vector<QueueLength> queues;
  std::vector<StreamIdle> stream_idle;
  std::optional<IdleGaps> idle;  ///< over the streams
  std::vector<MemoryPeak> memory;
  std::optional<CriticalPath> critical_path;
  std::vector<KernelSequence> sequences;
  std::vector<AnalysisTime> times;
  bool is_cancelled = false;  ///< the rest is incomplete then
};

/// On two threads. Setting `cancel` makes it stop soon.
[[nodiscard]] Analysis analyze(std::shared_ptr<const Trace> trace,
                               const std::atomic<bool>* cancel = nullptr);

/// Samples a step over all ranks, where the recorder knew them ("redline": {"samples_per_step":
/// N}).
[[nodiscard]] std::optional<double> samples_per_step(const Trace& trace);

/// Events that the recorder or the writer's size limit dropped, as the trace says itself
/// ("redline":
/// {"dropped": N}, "redline_size_limit": {"dropped_events": N}).
[[nodiscard]] int64_t dropped_events(const Trace& trace);

/// How many ranks `redline merge` put into the file; 0 in any other. Steps, sums and lanes of such
/// a file are those of all ranks, one over the other.
[[nodiscard]] int64_t merged_ranks(const Trace& trace);

}  // namespace redline::trace
