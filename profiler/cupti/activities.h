// Turns CUPTI's records of one window into records of the recorder, each with the operator and the
// call that it belongs to.
//
// A round is what one flush brought, and is read twice: calls and external ids first, since CUPTI
// gives no order between buffers. A kernel can be over before the call that launched it returns, so
// work without its call waits for one more flush. The recorder's own thread only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/clock_pair.h"
#include "profiler/cupti/annotation_names.h"
#include "profiler/cupti/buffer_pool.h"
#include "profiler/cupti/cupti_library.h"
#include "profiler/cupti/decoder.h"
#include "profiler/cupti/device_table.h"
#include "profiler/cupti/gpu_annotations.h"
#include "profiler/cupti/launches.h"
#include "profiler/record.h"

namespace redline::cupti {

struct ActivityCounts {
  DecodeCounts decoded;
  uint64_t incomplete = 0;    ///< work that had no end when the window ended
  uint64_t other_clock = 0;   ///< with times of a clock that is not ours
  uint64_t without_call = 0;  ///< work whose call was not seen
};

class Activities {
 public:
  Activities(const Library& library, DeviceTable& devices, const AnnotationNames& names)
      : library_(library),
        devices_(devices),
        annotation_names_(names),
        clocks_(profiler::read_clocks()) {}

  /// `is_flushed`: nothing older is left in CUPTI.
  void add_round(const std::vector<BufferPool::Filled>& buffers, bool is_flushed);
  /// The window's end: what still waits comes as it is, and the annotations.
  void finish();

  [[nodiscard]] const ActivityCounts& counts() const { return counts_; }

 private:
  struct FirstPass;
  struct SecondPass;
  struct Waiting {
    profiler::Record record;
    int flushes = 0;
  };
  struct RecordedEvent {
    uint32_t stream = 0;
    uint32_t correlation = 0;
  };

  template <typename Visitor>
  DecodeCounts read(const std::vector<BufferPool::Filled>& buffers, Visitor& visitor);
  void see_external(const ExternalCorrelationRecord& record);
  void see_call(const ApiRecord& record);
  void add(const KernelRecord& record);
  void add(const MemcpyRecord& record);
  void add(const PeerCopyRecord& record);
  void add(const MemsetRecord& record);
  void add(const SynchronizationRecord& record);
  void add(const ApiRecord& record);
  void add(const OverheadRecord& record);
  /// Gives `record` its times; false where it has none that can be shown.
  [[nodiscard]] bool set_times(profiler::Record& record, uint64_t start, uint64_t end);
  void submit_work(profiler::Record record, bool may_wait);
  void submit_matched(profiler::Record& record, Call& call);
  void retry_waiting();

  [[nodiscard]] int64_t to_monotonic(uint64_t time) const;
  [[nodiscard]] profiler::TextId launch_args(const KernelRecord& record);
  [[nodiscard]] profiler::TextId kernel_id(const char* symbol);
  struct Function {
    profiler::TextId name;
    bool is_shown = false;
  };
  [[nodiscard]] Function function(bool is_driver, uint32_t number);
  void see_generation();

  const Library& library_;
  DeviceTable& devices_;
  const AnnotationNames& annotation_names_;
  const profiler::ClockPair clocks_;
  int64_t now_ns_ = 0;
  ActivityCounts counts_;
  Launches launches_;
  GpuAnnotations annotations_;
  std::vector<Waiting> waiting_;
  std::unordered_map<uint32_t, uint32_t> device_of_context_;
  std::unordered_map<uint32_t, RecordedEvent> events_;
  // Texts interned for this generation of the text table.
  uint32_t generation_ = 0;
  std::unordered_map<uint64_t, profiler::TextId> kernels_;
  std::unordered_map<uint64_t, Function> functions_;
};

}  // namespace redline::cupti
