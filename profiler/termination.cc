#include "profiler/termination.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "profiler/quiet_thread.h"
#include "profiler/recorder.h"

namespace redline::profiler {
namespace {

std::atomic<pid_t> g_process = 0;
int g_wake[2] = {-1, -1};  ///< a pipe: written by the handler, read by the thread

void restore_default() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGTERM, &action, nullptr);
}

void on_terminate(int) {
  const int saved_errno = errno;
  if (getpid() == g_process) {
    [[maybe_unused]] const ssize_t size = write(g_wake[1], "", 1);
  } else {
    restore_default();
    raise(SIGTERM);  // blocked until this handler returns
  }
  errno = saved_errno;
}

void finish_when_woken() {
  char byte = 0;
  ssize_t size = 0;
  do {
    size = read(g_wake[0], &byte, 1);
  } while (size < 0 && errno == EINTR);
  Recorder::instance().finish();
  restore_default();
  kill(getpid(), SIGTERM);
}

bool is_default(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
         action.sa_handler == SIG_DFL;
}

}  // namespace

tl::expected<void, std::string> finish_on_termination() {
  if (g_process != 0 || !is_default(SIGTERM)) return {};
  if (pipe2(g_wake, O_CLOEXEC | O_NONBLOCK) != 0 || fcntl(g_wake[0], F_SETFL, 0) != 0) {
    return tl::unexpected(std::string("termination: ") + std::strerror(errno));
  }
  auto thread = start_quiet_thread(finish_when_woken);
  if (!thread) return tl::unexpected(std::string("termination: the system has no thread left"));
  thread->detach();
  g_process = getpid();
  struct sigaction action {};
  action.sa_handler = on_terminate;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  return {};
}

}  // namespace redline::profiler
