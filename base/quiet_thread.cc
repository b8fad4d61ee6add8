#include "base/quiet_thread.h"

#include <pthread.h>
#include <signal.h>

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

}  // namespace redline
