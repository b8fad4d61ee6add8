// The recorder's mutex, which knows the thread that holds it.
//
// A signal handler of the job may come within a call of the recorder, which can take minutes, and
// end the process. exit() then runs the recorder's exit handler on the same thread, which must not
// wait for itself.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace redline::profiler {

class RecorderMutex {
 public:
  void lock() {
    mutex_.lock();
    owner_ = std::this_thread::get_id();
  }
  [[nodiscard]] bool try_lock() {
    const bool is_locked = mutex_.try_lock();
    if (is_locked) owner_ = std::this_thread::get_id();
    return is_locked;
  }
  void unlock() {
    owner_ = std::thread::id();
    mutex_.unlock();
  }
  /// Whether the calling thread holds it.
  [[nodiscard]] bool is_mine() const { return owner_.load() == std::this_thread::get_id(); }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_ = std::thread::id();
};

/// Locks the recorder's mutex. A function that takes one must be called under that lock.
using RecorderLock = std::lock_guard<RecorderMutex>;

}  // namespace redline::profiler
