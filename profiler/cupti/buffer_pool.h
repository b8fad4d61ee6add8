// The buffers that CUPTI fills. They are made and touched before the window, so that a launch never
// waits for the system's memory, and are never freed.
//
// CUPTI calls back on training threads, where we only take a mutex for a few instructions. A buffer
// that CUPTI still holds when a window ends may come back at any later time. If our callbacks have
// replaced those of another tool, that tool's buffers may come back to us; these are left alone.
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

  /// Makes and touches buffers until kWarmBuffers are free, so that no training thread has to.
  void warm_up();
  /// How many buffers CUPTI could still get before one is refused.
  [[nodiscard]] size_t room() const;

  // From CUPTI's callbacks.
  /// An empty buffer, or a new one if all are in use. If there are kMostBuffers and `may_refuse` is
  /// set, or if there is no memory, nullptr, at which CUPTI before 12.9 crashes.
  [[nodiscard]] uint8_t* take(bool may_refuse) noexcept;
  /// CUPTI gives a buffer back. Does nothing with a buffer that take() did not give, or that came
  /// back before.
  void complete(uint8_t* buffer, size_t valid_size) noexcept;

  /// Takes the buffers that are filled now, oldest first.
  [[nodiscard]] std::vector<Filled> take_filled();
  void give_back(uint8_t* buffer);
  [[nodiscard]] bool has_filled() const;
  /// How many buffers CUPTI holds.
  [[nodiscard]] size_t out() const;

  /// Returns when buffers get scarce or after wake(), or gives false when `interval_ms` is over.
  bool wait(int interval_ms);
  void wake();

  /// How many requests got no buffer.
  [[nodiscard]] uint64_t refused() const;
  /// How many buffers came from CUPTI that are not ours.
  [[nodiscard]] uint64_t foreign() const;

  /// Around fork(): if another thread held the mutex then, the child could never lock it.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  /// To be called without the lock, because the system may take long to give memory.
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
