// Turns CUPTI's records of one window into the recorder's own. It joins GPU work with the call that
// launched it, and with the operator that made the call.
//
// CUPTI hands over calls, work and external ids as separate records, which share a correlation id:
//
//   ExternalCorrelationRecord (operator's id) - correlation id - ApiRecord (call) - KernelRecord …
//
// The join cannot be done record by record. CUPTI keeps no order between buffers, so the buffers of
// one flush (a round) are read twice: first calls and external ids, then work. And CUPTI may write
// the record of a call after that of its work, into a buffer that it holds back as long as any work
// in it runs. So work whose call is unknown waits for later rounds, for at most 20 s, and is then
// delivered without its call. To keep everything until the window's end would be simpler, but a
// window may last for hours.
//
// Not thread-safe: the recorder's CUPTI thread is the only caller.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "machine/nvml/gpu_reading.h"
#include "profiler/cupti/activity_text.h"
#include "profiler/cupti/buffer_pool.h"
#include "profiler/cupti/collective_notes.h"
#include "profiler/cupti/cupti_clock.h"
#include "profiler/cupti/cupti_library.h"
#include "profiler/cupti/decoder.h"
#include "profiler/cupti/device_table.h"
#include "profiler/cupti/gpu_annotations.h"
#include "profiler/cupti/graph_launches.h"
#include "profiler/cupti/launches.h"
#include "profiler/cupti/recorded_events.h"
#include "profiler/log/record.h"

namespace redline::cupti {

struct ActivityCounts {
  DecodeCounts decoded;
  uint64_t timed = 0;              ///< records that have their times
  uint64_t incomplete = 0;         ///< left out: no times, for example because work had not ended
  uint64_t other_clock = 0;        ///< left out: times that cannot be converted to our clock
  uint64_t without_call = 0;       ///< delivered, but the record of its call never came
  uint64_t begun_before_call = 0;  ///< delivered, although its times say it began before its call
};

class Activities {
 public:
  Activities(const Library& library, DeviceTable& devices, const AnnotationNames& names,
             const CollectiveNotes& collectives)
      : library_(library),
        devices_(devices),
        annotation_names_(names),
        collective_notes_(collectives) {}

  /// Call it before the add_round() whose records are older than the reading.
  void see_clocks(const ClockReading& reading) { clock_.add(reading); }
  /// `next` is cuptiActivityGetNextRecord. `is_flushed` says that CUPTI holds no older records.
  void add_round(std::span<const BufferPool::Filled> buffers, NextRecord next, bool is_flushed);
  /// Adds records to the counts that the caller has decoded and dropped.
  void count_left_out(const DecodeCounts& counts) { counts_.decoded += counts; }
  /// Delivers all annotations now; later work of one is another slice.
  void deliver_annotations();
  /// To be called at the window's end. Delivers the annotations, and the work that still waits for
  /// its call.
  void finish();

  [[nodiscard]] const ActivityCounts& counts() const { return counts_; }
  [[nodiscard]] const GraphLaunches& graph_launches() const { return graph_launches_; }
  /// Streams that were created within the window: a JSON object whose keys are their numbers.
  [[nodiscard]] std::string streams_json() const;

 private:
  static constexpr size_t kMostStreams = 256;  ///< streams_json() leaves out further streams
  struct FirstPass;
  struct SecondPass;
  struct Waiting {
    profiler::Record record;
    int flushes = 0;
  };

  template <typename Visitor>
  DecodeCounts read(std::span<const BufferPool::Filled> buffers, NextRecord next, Visitor& visitor);
  void see_external(const ExternalCorrelationRecord& record);
  void see_call(const ApiRecord& record);
  void add(const KernelRecord& record);
  void add(const MemcpyRecord& record);
  void add(const PeerCopyRecord& record);
  void add(const MemsetRecord& record);
  void add(const SynchronizationRecord& record);
  void add(const ApiRecord& record);
  void add(const OverheadRecord& record);
  // activities_memory.cc
  void add(const MemoryRecord& record);
  void add(const MemoryPoolRecord& record);
  void add(const UnifiedMemoryRecord& record);
  void count_pool(uint32_t device, uint64_t address, uint64_t size, uint64_t used, int64_t time_ns);
  void add(const EnvironmentRecord& record);
  void add(const StreamRecord& record);
  template <typename Transfer>
  void add_transfer(profiler::RecordKind kind, const Transfer& transfer, std::string_view name);
  [[nodiscard]] static profiler::Record work(profiler::RecordKind kind, uint32_t device,
                                             uint32_t stream, uint32_t correlation);
  /// Sets the times of `record`; false if they are missing or not of our clock.
  [[nodiscard]] bool set_times(profiler::Record& record, uint64_t start, uint64_t end);
  void submit_work(profiler::Record record, bool may_wait);
  void submit_matched(profiler::Record& record, Call& call);
  void submit_with(const ExternalIds& ids, profiler::Record& record);
  void retry_waiting();
  void give_up_waiting();
  void deliver_annotations_before(int64_t time_ns);

  [[nodiscard]] profiler::TextId launch_args(const KernelRecord& record);
  [[nodiscard]] profiler::TextId kernel_id(const char* symbol);
  void see_collective(const KernelRecord& record);
  void tell_collective(profiler::Record& record, uint32_t op);
  struct Function {
    profiler::TextId name;
    bool is_shown = false;
    bool launches_graph = false;
  };
  [[nodiscard]] Function function(bool is_driver, uint32_t number);
  void see_generation();

  const Library& library_;
  DeviceTable& devices_;
  const AnnotationNames& annotation_names_;
  const CollectiveNotes& collective_notes_;
  CuptiClock clock_;
  int64_t now_ns_ = 0;
  ActivityCounts counts_;
  Launches launches_;
  GpuAnnotations annotations_;
  std::vector<Waiting> waiting_;
  struct CollectiveKernel {
    std::string name;
    std::string launch_args;
  };
  /// Kernels of collectives that wait for their call, by its correlation and the graph's node: one
  /// launch of a graph may run several such kernels.
  std::map<std::pair<uint32_t, uint64_t>, CollectiveKernel> collective_kernels_;
  std::unordered_map<uint32_t, uint32_t> device_of_context_;
  RecordedEvents events_;
  GraphLaunches graph_launches_;
  std::map<uint32_t, StreamRecord> streams_;
  std::map<uint32_t, nvml::GpuReading> environments_;  ///< by device; put together from records
  // Texts that are interned in the current generation of the text table.
  uint32_t generation_ = 0;
  std::unordered_map<uint64_t, profiler::TextId> kernels_;
  std::unordered_map<uint64_t, Function> functions_;
};

}  // namespace redline::cupti
