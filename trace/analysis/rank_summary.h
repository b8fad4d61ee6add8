// What a report needs of one rank's trace: some kilobytes that outlive the trace.
//
// A report on thousands of ranks reads each trace, keeps its summary and drops the trace. So a
// summary has figures, names and the times of collectives, but no events. Ranks are compared
// (ranks.h) and tables are merged (run_tables.h) by summaries alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/statistics.h"
#include "trace/analysis/breakdown.h"
#include "trace/analysis/communication.h"
#include "trace/analysis/critical_path.h"
#include "trace/analysis/device_peaks.h"
#include "trace/analysis/finding.h"
#include "trace/analysis/gpus.h"
#include "trace/analysis/matched_collectives.h"
#include "trace/analysis/memory.h"
#include "trace/analysis/modules.h"
#include "trace/analysis/operator_shapes.h"
#include "trace/analysis/step_phases.h"
#include "trace/analysis/steps.h"
#include "trace/analysis/stop_watch.h"
#include "trace/analysis/streams.h"
#include "trace/analysis/tables.h"
#include "trace/model/model.h"
#include "trace/read/recordings.h"

namespace redline::trace {

/// What a trace says of itself.
struct TraceFacts {
  std::string path;
  std::string folder;  ///< that was given, and the trace found in it; empty if the trace was given
  RecordedTrace recorded;
  std::optional<int> rank;
  std::optional<int> world_size;
  std::string backend;
  std::string host;
  uint64_t events = 0;  ///< of every phase
  uint64_t slices = 0;
  std::vector<PhaseCount> phase_counts;
  std::vector<LoadIssue> issues;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  // RecordedFacts says what these are.
  int64_t dropped = 0;
  int64_t merged_ranks = 0;
  std::string reason;
  std::optional<double> samples_per_step;
  std::optional<double> tokens_per_step;
  std::string batches_digest;  ///< of what the rank reads, for sample_shares()
  bool is_inference = false;
  bool is_amd = false;
  /// Processes that call the runtime; more than one where a tool has merged their files.
  int64_t processes = 0;
  /// Slices of categories that we do not know, 0 in Redline's own traces: they may be GPU work.
  int64_t unknown_slices = 0;
};

struct RankSummary {
  TraceFacts facts;
  /// The strings that StringIds below stand for: those of the trace or, once it is dropped, a table
  /// that all ranks share.
  std::shared_ptr<const StringTable> names;

  std::vector<Step> steps;
  StepTimes step_times;
  StepBreakdown breakdown;
  std::optional<PhaseTimes> phases;
  std::vector<DeviceProperties> devices;  ///< all GPUs of the machine, also unused ones
  bool has_device_work = false;
  /// Of a process that used a GPU whose work the trace lacks: why, as the recorder says, or "".
  std::optional<std::string> unrecorded_gpu;
  /// Why the trace has only a part of the GPU's work: times of it are then too short.
  std::optional<std::string> partial_gpu;
  [[nodiscard]] bool lacks_gpu_work() const { return unrecorded_gpu || partial_gpu; }
  [[nodiscard]] bool has_whole_gpu_work() const { return has_device_work && !lacks_gpu_work(); }
  /// Whether slices that we do not know may be the work of a GPU.
  [[nodiscard]] bool may_hide_gpu_work() const {
    return !has_device_work && facts.unknown_slices > 0;
  }
  std::vector<GpuUse> gpus;  ///< only GPUs that did some work
  std::vector<KernelRow> kernels;
  std::vector<OperatorRow> operators;
  OperatorShapes shapes;  ///< empty where the trace was recorded without shapes
  ModuleTree modules;     ///< empty where the trace has no calls of modules
  DevicePeaks peaks;      ///< of the GPU, or without one the CPU; unknown if there are several
  std::vector<CopyRow> copies;
  std::vector<Collective> collectives;  ///< longest total first
  /// Mean time a step in which collectives and no computation are under way.
  /// nullopt if the trace does not tell how long collectives took.
  std::optional<int64_t> exposed_communication_ns = 0;
  OwnWork own_work{};
  RankCollectives timed_collectives;  ///< for the comparison with other ranks
  std::optional<LaunchStatistics> launches;
  std::vector<QueueLength> queues;
  std::vector<StreamIdle> stream_idle;
  std::optional<IdleGaps> idle;  ///< summed over all streams
  std::vector<MemoryPeak> memory;
  std::optional<CriticalPath> critical_path;
  std::vector<KernelSequence> sequences;
  std::vector<Finding> findings;  ///< of this rank alone, the largest possible gain first
  std::vector<EvidenceEvent> longest_steps;  ///< at most five
  std::vector<AnalysisTime> times;           ///< what each analysis took

  [[nodiscard]] std::string_view string(StringId id) const { return names->at(id); }
  /// Without, the trace counts as one step, from its first to its last operator.
  [[nodiscard]] bool has_marked_steps() const { return !steps.empty() && steps.front().number; }
  /// " a step", for a mean over steps; empty if none are marked: then the user knows of none.
  [[nodiscard]] std::string_view a_step() const { return has_marked_steps() ? " a step" : ""; }
  /// What a share of the steps' time is of.
  [[nodiscard]] std::string_view the_step() const {
    return has_marked_steps() ? "the step" : "the recording";
  }
};

/// Pointers to summaries, or to what has one.
template <typename Summaries>
[[nodiscard]] std::vector<const RankSummary*> pointers_to(const Summaries& summaries) {
  std::vector<const RankSummary*> pointers;
  for (const auto& summary : summaries) pointers.push_back(&summary);
  return pointers;
}

/// How long one batch takes, over all numbered steps of `ranks`. nullopt if there are none or if a
/// trace is not of inference.
[[nodiscard]] std::optional<Latency> batch_latency(std::span<const RankSummary> ranks);

}  // namespace redline::trace
