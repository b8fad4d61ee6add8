#include "profiler/session/control.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "profiler/session/abort_watch.h"

namespace redline::profiler {
namespace {

struct Crash {
  int signal;
  const char* name;
  struct sigaction job_action;  ///< the job's own action for this signal
};
Crash g_crashes[] = {{SIGSEGV, "SIGSEGV", {}},
                     {SIGBUS, "SIGBUS", {}},
                     {SIGFPE, "SIGFPE", {}},
                     {SIGILL, "SIGILL", {}},
                     {SIGABRT, "SIGABRT", {}}};
std::atomic<const Crash*> g_crash = nullptr;  ///< the first crash
std::atomic<bool> g_is_recorded = false;
struct sigaction g_job_termination {};  ///< the job's own action for SIGTERM
std::atomic<bool> g_is_terminated = false;
bool g_hears_crashes = false;

void restore_default(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
}

Call call_of(int signal) {
  if (signal == SIGTERM) return Call::kTerminate;
  return signal == SIGINT ? Call::kInterrupt : Call::kCapture;
}

void on_signal(int signal) {
  const int saved_errno = errno;
  if (!wake_control_thread(call_of(signal))) {
    restore_default(signal);
    raise(signal);  // takes effect when this handler returns, because it blocks the signal
  }
  errno = saved_errno;
}

void on_crash(int signal, siginfo_t* info, void*) {
  const int saved_errno = errno;
  for (const Crash& crash : g_crashes) {
    if (crash.signal != signal) continue;
    const Crash* none = nullptr;
    if (has_control_thread()) {
      const bool is_first = g_crash.compare_exchange_strong(none, &crash);
      if (is_first && !wake_control_thread(Call::kCrash)) crash_is_recorded();  // nobody hears it
      wait_for(g_is_recorded);  // other threads that crash meanwhile wait, too
    }
    sigaction(signal, &crash.job_action, nullptr);
  }
  // A fault occurs again, because its instruction is executed again. A signal that somebody sent
  // must be sent again.
  const bool was_sent = info == nullptr || info->si_code <= 0;
  if (was_sent) raise(signal);
  errno = saved_errno;
}

bool is_default(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
         action.sa_handler == SIG_DFL;
}

/// Calls the job's handler at once: the trace is written beside it. A job may take SIGTERM more
/// than once, or as a wish for a checkpoint; only the first one is written.
void on_job_termination(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  if (!g_is_terminated.exchange(true)) wake_control_thread(Call::kTold);
  errno = saved_errno;
  if ((g_job_termination.sa_flags & SA_SIGINFO) != 0) {
    g_job_termination.sa_sigaction(signal, info, context);
  } else {
    g_job_termination.sa_handler(signal);
  }
}

void handle(int signal) {
  if (!is_default(signal)) return;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

tl::expected<void, std::string> log_termination() {
  if (auto started = start_control_thread(); !started) return started;
  handle(SIGTERM);
  return {};
}

tl::expected<void, std::string> finish_on_signals() {
  if (auto heard = log_termination(); !heard) return heard;
  handle(SIGINT);
  if (g_hears_crashes) return {};
  g_hears_crashes = true;
  for (Crash& crash : g_crashes) {
    struct sigaction action {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(crash.signal, &action, &crash.job_action);
  }
  return {};
}

void hear_job_termination() {
  static std::atomic<bool> is_done = false;
  struct sigaction action {};
  if (is_done || is_default(SIGTERM) || sigaction(SIGTERM, nullptr, &action) != 0) return;
  const bool has_info = (action.sa_flags & SA_SIGINFO) != 0;
  const bool is_the_jobs =
      has_info || (action.sa_handler != SIG_IGN && action.sa_handler != on_signal);
  // Only once: a handler that the job sets later may call ours, which must not call that one.
  if (!is_the_jobs || is_done.exchange(true)) return;
  g_job_termination = action;
  action.sa_sigaction = on_job_termination;
  action.sa_flags |= SA_SIGINFO;
  sigaction(SIGTERM, &action, nullptr);
}

void capture_on_signal() { handle(SIGUSR2); }

void die_of(int signal) {
  restore_default(signal);
  kill(getpid(), signal);
}

const char* crash_name() {
  const Crash* crash = g_crash;
  return crash != nullptr ? crash->name : "";
}

void crash_is_recorded() { g_is_recorded = true; }

}  // namespace redline::profiler
