// Keeps on which stream each CUDA event was recorded, for the waits on it. A job records the same
// event again and again; a wait means the last record before it. The numbers of events are unique
// only within a context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profiler/cupti/activity_text.h"
#include "profiler/cupti/cupti_abi.h"

namespace redline::cupti {

class RecordedEvents {
 public:
  // Limits of what is kept between rounds: records of one event, and events.
  static constexpr size_t kMostOfEvent = 16;
  static constexpr size_t kMostEvents = size_t{1} << 14;

  /// Records may be added in any order, because CUPTI does not keep the order between buffers.
  void add(const CudaEventRecord& record);
  /// The last record of the event that was made before the call `correlation`; nullptr if there is
  /// none. Valid until the next change.
  [[nodiscard]] const RecordedEvent* find(uint32_t context, uint32_t event,
                                          uint32_t correlation) const;
  /// Forgets the oldest records and events beyond the limits.
  void end_round();
  [[nodiscard]] size_t size() const { return events_.size(); }

 private:
  static uint64_t key(uint32_t context, uint32_t event) { return uint64_t{context} << 32 | event; }

  /// By key(). The records of an event are sorted by correlation.
  std::unordered_map<uint64_t, std::vector<RecordedEvent>> events_;
};

}  // namespace redline::cupti
