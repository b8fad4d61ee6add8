// Where CUDA events were recorded, for the waits on them. A job records the same event again and
// again; a wait means the last record before it, and the events of each context have numbers of
// their own.
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
  static constexpr size_t kMostOfEvent = 16;              ///< from round to round
  static constexpr size_t kMostEvents = size_t{1} << 14;  ///< likewise

  /// In any order: CUPTI keeps none between buffers.
  void add(const CudaEventRecord& record);
  /// The last record of the event that was made before the call `correlation`; nullptr if there is
  /// none. Valid until the next change.
  [[nodiscard]] const RecordedEvent* find(uint32_t context, uint32_t event,
                                          uint32_t correlation) const;
  /// The oldest records and events beyond the limits are forgotten.
  void end_round();
  [[nodiscard]] size_t size() const { return events_.size(); }

 private:
  static uint64_t key(uint32_t context, uint32_t event) { return uint64_t{context} << 32 | event; }

  std::unordered_map<uint64_t, std::vector<RecordedEvent>> events_;  ///< by correlation
};

}  // namespace redline::cupti
