// A hash map from a pointer and a number to a small value, for names of the interpreter's objects.
// To find a known key, it needs about one probe and no allocation. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace redline::profiler {

template <typename Value>
class PointerMap {
 public:
  /// The value at (pointer, number). If there is none, adds one and sets `is_new`. The reference is
  /// valid until the next call. `pointer` must not be null.
  Value& find_or_add(const void* pointer, uint64_t number, bool& is_new) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    Slot& slot = find(pointer, number);
    is_new = slot.pointer == nullptr;
    if (is_new) {
      slot.pointer = pointer;
      slot.number = number;
      ++size_;
    }
    return slot.value;
  }

  void clear() {
    slots_.clear();
    size_ = 0;
  }

 private:
  struct Slot {
    const void* pointer = nullptr;
    uint64_t number = 0;
    Value value = {};
  };

  Slot& find(const void* pointer, uint64_t number) {
    const size_t mask = slots_.size() - 1;
    const uint64_t hash =
        (reinterpret_cast<uintptr_t>(pointer) ^ number << 48) * 0x9E3779B97F4A7C15;
    for (size_t at = (hash >> 32) & mask;; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      if (slot.pointer == nullptr || (slot.pointer == pointer && slot.number == number)) {
        return slot;
      }
    }
  }

  void grow() {
    std::vector<Slot> before(slots_.empty() ? 1024 : slots_.size() * 2);
    before.swap(slots_);
    for (Slot& slot : before) {
      if (slot.pointer != nullptr) find(slot.pointer, slot.number) = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace redline::profiler
