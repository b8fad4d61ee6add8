#include "profiler/session/abort_watch.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace redline::profiler {
namespace {

struct AbortWatch {
  sem_t wakes;
  struct sigaction job_action;
  int (*holds_interpreter)() = nullptr;  // PyGILState_Check
  std::atomic<pid_t> process = 0;
  std::atomic<bool> is_aborting = false;
  std::atomic<bool> is_told = false;
};
AbortWatch g_watch;

// Then the thread that waits for aborts could say nothing.
bool holds_interpreter() { return g_watch.holds_interpreter && g_watch.holds_interpreter() != 0; }

void on_abort(int signal) {
  const int saved_errno = errno;
  if (g_watch.process == getpid() && !holds_interpreter()) {
    g_watch.is_aborting = true;
    sem_post(&g_watch.wakes);
    wait_for(g_watch.is_told);
  }
  sigaction(signal, &g_watch.job_action, nullptr);
  raise(signal);  // takes effect when this handler returns, because it blocks the signal
  errno = saved_errno;
}

void begin() {
  sem_init(&g_watch.wakes, 0, 0);
  g_watch.is_told = false;
  g_watch.holds_interpreter = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
  const bool is_handled = g_watch.process.exchange(getpid()) != 0;  // by the parent that forked
  if (is_handled) return;
  struct sigaction action {};
  action.sa_handler = on_abort;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGABRT, &action, &g_watch.job_action);
}

}  // namespace

bool wait_for_abort(std::chrono::nanoseconds most) {
  if (g_watch.process != getpid()) begin();
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  const int64_t end_ns = until.tv_nsec + most.count();
  until.tv_sec += end_ns / 1'000'000'000;
  until.tv_nsec = end_ns % 1'000'000'000;
  while (sem_clockwait(&g_watch.wakes, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {
  }
  return g_watch.is_aborting;
}

void wake_abort_watch() {
  if (g_watch.process == getpid()) sem_post(&g_watch.wakes);
}

void end_abort_watch() { g_watch.is_told = true; }

void wait_for(const std::atomic<bool>& flag) noexcept {
  constexpr int kMostMs = 4000;
  const timespec pause = {.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int i = 0; i < kMostMs && !flag; ++i) nanosleep(&pause, nullptr);
}

}  // namespace redline::profiler
