// NCCL's events between their begin and their end. There is a fixed number of places, which NCCL's
// threads take and give back without a lock.
//
// A handle is a serial number and a place, not a pointer. NCCL may use a handle too late: for
// example, an event may come with a parent that is long over. The serial number then shows that the
// place belongs to another event.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "profiler/nccl/nccl_event.h"

namespace redline::nccl {

class OpenEvent {
 public:
  Event event;  ///< written before publish(), and constant later
  int64_t begin_ns = 0;
  std::atomic<int64_t> end_ns = 0;  ///< the latest end of the event and its parts
  std::atomic<uint64_t> bytes = 0;  ///< how much it has transferred
  std::atomic<int> state = -1;      ///< the present state, which began at state_ns
  std::atomic<int64_t> state_ns = 0;
  std::atomic<bool> has_stopped = false;  ///< it has ended itself, and waits for its parts
  std::atomic<int> expected = 0;          ///< parts that were counted but have not begun
  uint64_t ticket = 0;                    ///< of the list of entered collectives; 0: not in it
  /// No window wants it any more, or it began outside of one.
  std::atomic<bool> is_recorded = false;

 private:
  friend class OpenEvents;
  /// The serial number, and how many ends are still to come. If that is 0, the event is over.
  std::atomic<uint64_t> parts = 0;
  std::atomic<uint32_t> next = 0;  ///< the next place in the list of free ones
};

class OpenEvents {
 public:
  static constexpr uint32_t kMost = 1 << 13;

  OpenEvents();

  /// Takes a place; null if all are taken. Others cannot find it before publish().
  [[nodiscard]] OpenEvent* take(uint64_t& handle);
  /// From now on others can find the event. It is over when it has ended itself and `more_ends` of
  /// its parts have ended.
  void publish(OpenEvent& open, uint64_t handle, uint32_t more_ends);

  /// The event of a handle; null if the event is over.
  [[nodiscard]] OpenEvent* find(uint64_t handle);
  /// Makes the event wait for one more end. False if it is over already.
  [[nodiscard]] bool add_end(uint64_t handle);
  /// Counts one end. True if the event is over now: it then belongs to the caller alone until
  /// give_back().
  [[nodiscard]] bool end(uint64_t handle);
  /// Ends the event although ends may be missing. True has the same meaning as for end().
  [[nodiscard]] bool close(uint64_t handle);
  void give_back(OpenEvent& open);

  /// Calls visit(handle, event) for each open event.
  template <typename Visit>
  void visit(Visit visit) {
    for (uint32_t place = 0; place < kMost; ++place) {
      const uint64_t parts = events_[place].parts.load(std::memory_order_acquire);
      if ((parts & kEndsMask) != 0) visit(handle_of(parts >> kEndsBits, place), events_[place]);
    }
  }

  /// A serial number for an event that needs no place.
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
  std::atomic<uint64_t> free_ = 0;  ///< the first free place, and a count that makes values unique
};

}  // namespace redline::nccl
