// A communicator of NCCL, and the offset of its GPU's clock from ours.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace redline::nccl {

class Communicator {
 public:
  struct Identity {
    uint64_t id = 0;
    std::string name;
    int rank = -1;
    int ranks = 0;  ///< 0: unknown
  };

  /// `types` are the events that NCCL is asked for within windows, through `mask`.
  explicit Communicator(int types, int* mask = nullptr)
      : types_(static_cast<uint32_t>(types)), mask_(mask) {}

  [[nodiscard]] uint64_t types() const { return types_; }
  [[nodiscard]] int* mask() const { return mask_; }

  /// Null until it is known. It never changes, and is never freed.
  [[nodiscard]] const Identity* identity() const { return identity_.load(); }
  /// Only the first call has an effect.
  void identify(Identity identity) {
    auto made = std::make_unique<Identity>(std::move(identity));
    const Identity* none = nullptr;
    if (identity_.compare_exchange_strong(none, made.get())) static_cast<void>(made.release());
  }

  /// Converts a time stamp of the GPU, which we saw at `now_ns`, to the host's clock. We see a
  /// stamp some time after the GPU took it. So the smallest difference of the last one to two
  /// seconds is the offset of the clocks, with an error of the smallest delay. May be called from
  /// any thread: a race between two threads only makes the offset a little less exact.
  [[nodiscard]] int64_t to_host(uint64_t ptimer, int64_t now_ns) const {
    constexpr int64_t kPeriodNs = 1'000'000'000;  // in which the clocks drift by microseconds
    const int64_t offset = now_ns - static_cast<int64_t>(ptimer);
    const int64_t period = now_ns / kPeriodNs;
    if (const int64_t before = period_.exchange(period); before != period) {
      before_ = before + 1 == period ? least_.load() : kNone;
      least_ = offset;
    } else if (offset < least_) {
      least_ = offset;
    }
    return static_cast<int64_t>(ptimer) + std::min(before_.load(), least_.load());
  }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  const uint64_t types_;
  int* const mask_;
  std::atomic<const Identity*> identity_ = nullptr;
  mutable std::atomic<int64_t> period_ = -1;
  mutable std::atomic<int64_t> least_ = kNone;
  mutable std::atomic<int64_t> before_ = kNone;  ///< least_ of the period before
};

}  // namespace redline::nccl
