// All results about one trace, computed once; report, page, viewer and advice only read them.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/statistics.h"
#include "trace/analysis/breakdown.h"
#include "trace/analysis/communication.h"
#include "trace/analysis/critical_path.h"
#include "trace/analysis/device_peaks.h"
#include "trace/analysis/device_work.h"
#include "trace/analysis/gpus.h"
#include "trace/analysis/host_tree.h"
#include "trace/analysis/memory.h"
#include "trace/analysis/modules.h"
#include "trace/analysis/operator_shapes.h"
#include "trace/analysis/steps.h"
#include "trace/analysis/streams.h"
#include "trace/analysis/tables.h"
#include "trace/model/model.h"

namespace redline::trace {

struct Analysis {
  std::shared_ptr<const Trace> trace;
  std::vector<Step> steps;
  StepTimes step_times;
  StepBreakdown breakdown;
  std::optional<PhaseTimes> phases;
  std::vector<DeviceProperties> devices;  ///< all GPUs of the machine, also unused ones
  DeviceWorkTable device_work;
  std::vector<GpuUse> gpus;  ///< only GPUs that did some work
  std::vector<KernelRow> kernels;
  std::vector<OperatorRow> operators;
  OperatorShapes shapes;  ///< empty where the trace was recorded without shapes
  ModuleTree modules;     ///< empty where the trace has no calls of modules
  DevicePeaks peaks;      ///< of the GPU, or without one the CPU; unknown if there are several
  HostTree host_tree;
  std::vector<CopyRow> copies;
  Communication communication;
  std::optional<LaunchStatistics> launches;
  std::vector<QueueLength> queues;
  std::vector<StreamIdle> stream_idle;
  std::optional<IdleGaps> idle;  ///< summed over all streams
  std::vector<MemoryPeak> memory;
  std::optional<CriticalPath> critical_path;
  std::vector<KernelSequence> sequences;
  std::vector<AnalysisTime> times;
  bool is_cancelled = false;  ///< if so, other fields may be missing
};

/// Runs on two threads. Setting `cancel`, from any thread, makes it stop soon.
[[nodiscard]] Analysis analyze(std::shared_ptr<const Trace> trace,
                               const std::atomic<bool>* cancel = nullptr);

/// Of the GPU that did all the work; of the CPU if none did any. Unknown if several did.
[[nodiscard]] DevicePeaks peaks_of(const Trace& trace, const std::vector<DeviceProperties>& devices,
                                   const DeviceWorkTable& work);

/// Samples that all ranks together take in a step; nullopt if the recorder did not know ("redline":
/// {"samples_per_step": N}).
[[nodiscard]] std::optional<double> samples_per_step(const Trace& trace);

/// Tokens that all ranks together take in a step: samples times the length of their sequences.
/// nullopt unless the recorder saw token ids that the model reads as sequences.
[[nodiscard]] std::optional<double> tokens_per_step(const Trace& trace);

/// Whether the recorder says that the trace is of inference ("redline": {"inference": true}).
[[nodiscard]] bool is_inference(const Trace& trace);

/// How long one batch takes, over all numbered steps of `traces`. nullopt if there are none or if a
/// trace is not of inference.
[[nodiscard]] std::optional<Latency> batch_latency(std::span<const Analysis> traces);

/// Cores that the recorded process could run on ("run": {"machine": {"usable_cores": N}}).
[[nodiscard]] std::optional<int64_t> usable_cores(const Trace& trace);

/// Events that the recorder or the writer's size limit dropped, as the trace itself says
/// ("redline": {"dropped": N}, "redline_size_limit": {"dropped_events": N}).
[[nodiscard]] int64_t dropped_events(const Trace& trace);

/// How many ranks `redline merge` put into the file; 0 in any other. Such a file mixes its ranks:
/// its steps, sums and lanes are those of all ranks together.
[[nodiscard]] int64_t merged_ranks(const Trace& trace);

}  // namespace redline::trace
