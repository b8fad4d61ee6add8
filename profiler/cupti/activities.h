// Turns CUPTI's records of one window into records of the recorder, each with the operator and the
// call that it belongs to.
//
// A round is what one flush brought, and is read twice: calls and external ids first, since CUPTI
// gives no order between buffers. CUPTI notes a call behind its work, maybe in the next buffer, and
// keeps a buffer as long as any work in it is not over: so work waits for its call, up to 20 s.
// The recorder's own thread only.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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
#include "profiler/cupti/launches.h"
#include "profiler/log/record.h"

namespace redline::cupti {

struct ActivityCounts {
  DecodeCounts decoded;
  uint64_t incomplete = 0;    ///< work that had no end when the window ended
  uint64_t other_clock = 0;   ///< with times of a clock that is not ours
  uint64_t without_call = 0;  ///< work whose call was not seen
};

class Activities {
 public:
  Activities(const Library& library, DeviceTable& devices, const AnnotationNames& names,
             const CollectiveNotes& collectives)
      : library_(library),
        devices_(devices),
        annotation_names_(names),
        collective_notes_(collectives) {}

  /// Before the records that are older than the reading.
  void see_clocks(const ClockReading& reading) { clock_.add(reading); }
  /// `next` finds the records in the buffers. `is_flushed`: nothing older is left in CUPTI.
  void add_round(std::span<const BufferPool::Filled> buffers, NextRecord next, bool is_flushed);
  /// Of records that were looked through before.
  void count_left_out(const DecodeCounts& counts) { counts_.decoded += counts; }
  /// The window's end: what still waits comes as it is, and the annotations.
  void finish();

  [[nodiscard]] const ActivityCounts& counts() const { return counts_; }
  /// Streams that were made within the window, as a JSON object by their numbers.
  [[nodiscard]] std::string streams_json() const;

 private:
  static constexpr size_t kMostStreams = 256;  ///< that are told of
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
  /// Gives `record` its times; false where it has none that can be shown.
  [[nodiscard]] bool set_times(profiler::Record& record, uint64_t start, uint64_t end);
  void submit_work(profiler::Record record, bool may_wait);
  void submit_matched(profiler::Record& record, Call& call);
  void submit_with(const ExternalIds& ids, profiler::Record& record);
  void retry_waiting();
  void give_up_waiting();
  void deliver_annotations(int64_t before_ns);

  [[nodiscard]] profiler::TextId launch_args(const KernelRecord& record);
  [[nodiscard]] profiler::TextId kernel_id(const char* symbol);
  void see_collective(const KernelRecord& record);
  void tell_collective(profiler::Record& record, uint32_t op);
  struct Function {
    profiler::TextId name;
    bool is_shown = false;
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
  std::unordered_map<uint32_t, CollectiveKernel>
      collective_kernels_;  ///< until they have their call
  std::unordered_map<uint32_t, uint32_t> device_of_context_;
  std::unordered_map<uint32_t, RecordedEvent> events_;
  std::map<uint32_t, StreamRecord> streams_;
  std::map<uint32_t, nvml::GpuReading> environments_;  ///< by device; each record tells a part
  // Texts interned for this generation of the text table.
  uint32_t generation_ = 0;
  std::unordered_map<uint64_t, profiler::TextId> kernels_;
  std::unordered_map<uint64_t, Function> functions_;
};

}  // namespace redline::cupti
