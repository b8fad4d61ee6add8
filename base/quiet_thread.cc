#include "base/quiet_thread.h"

#include <pthread.h>
#include <signal.h>

#include <exception>
#include <system_error>
#include <utility>

namespace redline {

std::optional<std::thread> start_quiet_thread(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits it
  std::optional<std::thread> thread;
  try {
    thread.emplace(std::move(body));
    pthread_setname_np(thread->native_handle(), "redline");
  } catch (const std::system_error&) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

bool run_quietly(const std::function<void()>& body) {
  auto thread = start_quiet_thread(body);
  if (!thread) return false;
  thread->join();
  return true;
}

bool PausingThread::start(std::function<void()> body) {
  if (thread_) return true;
  stopping_ = false;
  body_ = std::move(body);
  thread_ = start_quiet_thread([this] {
    try {
      body_();
    } catch (const std::exception&) {
    }
  });
  return thread_.has_value();
}

bool PausingThread::pause(std::chrono::nanoseconds length) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, length, [this] { return stopping_.load(); });
}

bool PausingThread::stop() {
  if (!thread_) return false;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_->join();
  thread_.reset();
  return true;
}

}  // namespace redline
