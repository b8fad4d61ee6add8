#include "profiler/signals.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "profiler/control.h"

namespace redline::profiler {
namespace {

void restore_default(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
}

void on_signal(int signal) {
  const int saved_errno = errno;
  if (has_control_thread()) {
    ring(signal == SIGTERM ? Bell::kTerminate : Bell::kCapture);
  } else {
    restore_default(signal);
    raise(signal);  // blocked until this handler returns
  }
  errno = saved_errno;
}

bool is_default(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
         action.sa_handler == SIG_DFL;
}

void handle(int signal) {
  if (!is_default(signal)) return;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

tl::expected<void, std::string> finish_on_termination() {
  if (auto started = start_control_thread(); !started) return started;
  handle(SIGTERM);
  return {};
}

void capture_on_signal() { handle(SIGUSR2); }

void die_of(int signal) {
  restore_default(signal);
  kill(getpid(), signal);
}

}  // namespace redline::profiler
