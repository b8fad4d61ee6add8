// Threads inside a program whose signals are not ours: a training job, or a command.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace redline {

/// Starts a thread that blocks every signal from its first instruction on. So the job's handlers
/// never run on it, and SIGXFSZ, which a limit of file sizes raises, cannot kill the job (write()
/// then fails with EFBIG instead). nullopt if the system has no thread left.
[[nodiscard]] std::optional<std::thread> start_quiet_thread(std::function<void()> body);

/// Runs `body` on such a thread and waits for it. False if the system has no thread left.
[[nodiscard]] bool run_quietly(const std::function<void()>& body);

/// Such a thread that does something every now and then until it is stopped. start() and stop() are
/// for one caller at a time, never for the thread itself. A forked child has no such thread, so it
/// must neither stop nor destroy it.
class PausingThread {
 public:
  PausingThread() = default;
  ~PausingThread() { stop(); }
  PausingThread(const PausingThread&) = delete;
  PausingThread& operator=(const PausingThread&) = delete;

  /// Runs `body`, unless it runs already. An exception, as for lack of memory, ends the thread, not
  /// the program. False if the system has no thread left.
  bool start(std::function<void()> body);
  /// For the thread: waits that long, but gives false as soon as it is to end.
  [[nodiscard]] bool pause(std::chrono::nanoseconds length);
  /// Returns when the thread has ended. False if there was none.
  bool stop();
  /// For the thread, where it does not pause for long.
  [[nodiscard]] const std::atomic<bool>& stopping() const { return stopping_; }

 private:
  std::function<void()> body_;
  std::mutex mutex_;  // so that no wake_ comes between a look at stopping_ and the wait
  std::condition_variable wake_;
  std::atomic<bool> stopping_ = false;
  std::optional<std::thread> thread_;
};

}  // namespace redline
