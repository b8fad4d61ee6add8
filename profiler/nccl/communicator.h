// A communicator of NCCL, and how the clock of its GPU stands to ours.
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

  /// `types`: the events that NCCL is asked for in windows, by `mask`.
  explicit Communicator(int types, int* mask = nullptr)
      : types_(static_cast<uint32_t>(types)), mask_(mask) {}

  [[nodiscard]] uint64_t types() const { return types_; }
  [[nodiscard]] int* mask() const { return mask_; }

  /// Null before it is known. Never changes, and is never freed.
  [[nodiscard]] const Identity* identity() const { return identity_.load(); }
  /// The first one counts.
  void identify(Identity identity) {
    auto made = std::make_unique<Identity>(std::move(identity));
    const Identity* none = nullptr;
    if (identity_.compare_exchange_strong(none, made.get())) static_cast<void>(made.release());
  }

  /// The host's time of a stamp of the GPU that became known at `now_ns`. A stamp is seen after it
  /// was taken, so the least time between the two of late says how the clocks stand, to the least
  /// delay of late. Any thread; a race between two costs some of that, no more.
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
  mutable std::atomic<int64_t> before_ = kNone;  ///< of the period before
};

}  // namespace redline::nccl
