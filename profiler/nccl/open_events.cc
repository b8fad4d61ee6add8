#include "profiler/nccl/open_events.h"

namespace redline::nccl {

OpenEvents::OpenEvents() {
  for (uint32_t place = 0; place < kMost; ++place) {
    events_[place].next = place + 1 < kMost ? place + 1 : kNone;
  }
}

OpenEvent* OpenEvents::take(uint64_t& handle) {
  uint64_t first = free_.load(std::memory_order_acquire);
  uint64_t taken = 0;
  do {
    const auto place = static_cast<uint32_t>(first);
    if (place == kNone) return nullptr;
    taken = ((first >> 32) + 1) << 32 | events_[place].next.load(std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(first, taken, std::memory_order_acq_rel));
  const auto place = static_cast<uint32_t>(first);
  handle = handle_of(next_serial(), place);
  return &events_[place];
}

void OpenEvents::publish(OpenEvent& open, uint64_t handle, uint32_t more_ends) {
  open.parts.store((handle >> kPlaceBits) << kEndsBits | (uint64_t{1} + more_ends),
                   std::memory_order_release);
}

OpenEvent* OpenEvents::find(uint64_t handle) {
  OpenEvent& open = events_[handle % kMost];
  const uint64_t parts = open.parts.load(std::memory_order_acquire);
  const bool is_it = parts >> kEndsBits == handle >> kPlaceBits && (parts & kEndsMask) != 0;
  return is_it ? &open : nullptr;
}

template <typename Change>
bool OpenEvents::change_ends(uint64_t handle, Change change, uint64_t& left) {
  std::atomic<uint64_t>& parts = events_[handle % kMost].parts;
  uint64_t now = parts.load(std::memory_order_acquire);
  do {
    if (now >> kEndsBits != handle >> kPlaceBits || (now & kEndsMask) == 0) return false;
    left = change(now & kEndsMask);
  } while (!parts.compare_exchange_weak(now, (now & ~kEndsMask) | left, std::memory_order_acq_rel));
  return true;
}

bool OpenEvents::add_end(uint64_t handle) {
  uint64_t left = 0;
  return change_ends(
      handle, [](uint64_t ends) { return ends < kEndsMask ? ends + 1 : ends; }, left);
}

bool OpenEvents::end(uint64_t handle) {
  uint64_t left = 0;
  return change_ends(
             handle, [](uint64_t ends) { return ends - 1; }, left) &&
         left == 0;
}

bool OpenEvents::close(uint64_t handle) {
  uint64_t left = 0;
  return change_ends(
      handle, [](uint64_t) { return uint64_t{0}; }, left);
}

void OpenEvents::give_back(OpenEvent& open) {
  const auto place = static_cast<uint32_t>(&open - events_.data());
  uint64_t first = free_.load(std::memory_order_acquire);
  uint64_t given = 0;
  do {
    open.next.store(static_cast<uint32_t>(first), std::memory_order_relaxed);
    given = ((first >> 32) + 1) << 32 | place;
  } while (!free_.compare_exchange_weak(first, given, std::memory_order_acq_rel));
}

}  // namespace redline::nccl
