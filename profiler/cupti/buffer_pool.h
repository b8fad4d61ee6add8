// The buffers that CUPTI fills: made and touched before the window, so that a launch never waits
// for the system's memory, and used again for ever.
//
// CUPTI's callbacks come on training threads: they take a mutex for a few instructions and nothing
// else. What CUPTI still holds when a window ends may come back at any later time. What comes back
// may also be another tool's, if its callbacks were replaced by ours: that is left alone.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace redline::cupti {

class BufferPool {
 public:
  static constexpr size_t kBufferBytes = size_t{2} << 20;
  static constexpr size_t kWarmBuffers = 8;
  static constexpr size_t kMostBuffers = 64;  ///< as much as Kineto takes

  struct Filled {
    uint8_t* buffer = nullptr;
    size_t valid_size = 0;
  };

  /// At least kWarmBuffers free ones, all touched, so that no training thread has to make one.
  void warm_up();
  /// Buffers that could be filled before one is refused.
  [[nodiscard]] size_t room() const;

  // From CUPTI's callbacks.
  /// An empty buffer; where all are in use, a new one up to kMostBuffers. Then nullptr, which CUPTI
  /// before 12.9 does not survive: `may_refuse` says whether it does.
  [[nodiscard]] uint8_t* take(bool may_refuse) noexcept;
  /// Without effect on a buffer that take() did not give, or that came back before.
  void complete(uint8_t* buffer, size_t valid_size) noexcept;

  /// What is filled now, oldest first.
  [[nodiscard]] std::vector<Filled> take_filled();
  void give_back(uint8_t* buffer);
  [[nodiscard]] bool has_filled() const;
  /// How many CUPTI holds.
  [[nodiscard]] size_t out() const;

  /// Until buffers get scarce, `interval_ms` is over, or wake().
  void wait(int interval_ms);
  void wake();

  /// Requests that found nothing.
  [[nodiscard]] uint64_t refused() const;
  /// Buffers that came from CUPTI and are not ours.
  [[nodiscard]] uint64_t foreign() const;

  /// Around fork(): else another thread could have the mutex, which the child would never get.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  /// Without the lock: the system may take long to give memory.
  [[nodiscard]] uint8_t* make();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<uint8_t[]>> all_;
  std::vector<uint8_t*> free_;
  std::vector<Filled> filled_;
  std::vector<const uint8_t*> out_;
  size_t being_made_ = 0;
  uint64_t refused_ = 0;
  uint64_t foreign_ = 0;
  bool is_woken_ = false;
};

}  // namespace redline::cupti
