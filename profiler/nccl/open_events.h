// NCCL's events between their begin and their end: a fixed number of places, taken and given back
// without a lock from NCCL's threads.
//
// A handle is no pointer but a serial number and a place, so that one that is used too late, as the
// parent of events that come when their collective is long over, meets nothing of another event.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "profiler/nccl/nccl_event.h"

namespace redline::nccl {

class OpenEvent {
 public:
  Event event;  ///< written before others can find it
  int64_t begin_ns = 0;
  std::atomic<int64_t> end_ns = 0;  ///< the latest of its own and its parts' ends
  std::atomic<uint64_t> bytes = 0;  ///< that it has transferred
  std::atomic<int> state = -1;      ///< the last; begun at state_ns
  std::atomic<int64_t> state_ns = 0;
  std::atomic<bool> has_stopped = false;  ///< and waits for its parts
  std::atomic<int> expected = 0;          ///< parts that were counted before they began

 private:
  friend class OpenEvents;
  /// Serial number and how many ends are still to come; 0 parts: nobody may touch it any more.
  std::atomic<uint64_t> parts = 0;
  std::atomic<uint32_t> next = 0;  ///< of the free ones
};

class OpenEvents {
 public:
  static constexpr uint32_t kMost = 1 << 13;

  OpenEvents();

  /// For an event that is over when it has ended itself and `more_ends` of its parts have. Null
  /// where all places are taken. publish() lets others find it.
  [[nodiscard]] OpenEvent* take(uint64_t& handle);
  void publish(OpenEvent& open, uint64_t handle, uint32_t more_ends);

  /// The event of a handle, or null where that is over.
  [[nodiscard]] OpenEvent* find(uint64_t handle);
  /// It is over one end later. False: it is over already.
  [[nodiscard]] bool add_end(uint64_t handle);
  /// One end. True: it is over, and the caller alone has it until give_back().
  [[nodiscard]] bool end(uint64_t handle);
  /// It is over, whatever was still to come: true as for end().
  [[nodiscard]] bool close(uint64_t handle);
  void give_back(OpenEvent& open);

  /// The handles of all that are open.
  template <typename Visit>
  void visit(Visit visit) {
    for (uint32_t place = 0; place < kMost; ++place) {
      const uint64_t parts = events_[place].parts.load(std::memory_order_acquire);
      if ((parts & kEndsMask) != 0) visit(handle_of(parts >> kEndsBits, place), events_[place]);
    }
  }

  /// For what has no place.
  [[nodiscard]] uint64_t next_serial() {
    return serial_.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  [[nodiscard]] static uint32_t id_of(uint64_t handle) {
    return static_cast<uint32_t>(handle >> kPlaceBits);
  }

 private:
  static constexpr int kPlaceBits = 13;
  static constexpr int kEndsBits = 16;
  static constexpr uint64_t kEndsMask = (uint64_t{1} << kEndsBits) - 1;
  static constexpr uint32_t kNone = UINT32_MAX;

  static uint64_t handle_of(uint64_t serial, uint32_t place) {
    return serial << kPlaceBits | place;
  }
  template <typename Change>
  [[nodiscard]] bool change_ends(uint64_t handle, Change change, uint64_t& left);

  std::array<OpenEvent, kMost> events_;
  std::atomic<uint64_t> serial_ = 0;
  std::atomic<uint64_t> free_ = 0;  ///< a count that makes each value new, and the first place
};

}  // namespace redline::nccl
