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
                                                        const DeviceWorkTable& work,
                                                        std::span<const MemoryEvent> memory);

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

/// Whether Redline recorded a program without PyTorch, such as one of JAX or CuPy: Redline's traces
/// of PyTorch have "torch" or, of LibTorch, "torch_version".
[[nodiscard]] bool is_without_pytorch(const Trace& trace);

/// Cores that the recorded process could run on ("run": {"machine": {"usable_cores": N}}).
[[nodiscard]] std::optional<int64_t> usable_cores(const Trace& trace);

/// What the recorder saw of a job on the CPU that decides what bf16 would bring.
struct CpuPrecision {
  std::optional<bool> computes_bf16;  ///< ("run": {"machine": {"bf16": true}})
  bool uses_autocast = false;         ///< ("torch": {"autocast": {"cpu": "bfloat16"}})
  /// Most parameters are of this type ("torch": {"parameters": {"float32": N}}).
  std::string parameters;
};
[[nodiscard]] CpuPrecision cpu_precision(const Trace& trace);

/// Events that the recorder or the writer's size limit dropped, as the trace itself says
/// ("redline": {"dropped": N}, "redline_size_limit": {"dropped_events": N}).
[[nodiscard]] int64_t dropped_events(const Trace& trace);

/// How many ranks `redline merge` put into the file, windows of one counted once; 0 in any other.
/// Such a file mixes its ranks: its steps, sums and lanes are those of all ranks together.
[[nodiscard]] int64_t merged_ranks(const Trace& trace);

}  // namespace redline::trace
