#include "cli/interrupt.h"

#include <csignal>

namespace redline::cli {
namespace {

std::atomic<bool> g_interrupted = false;  // a signal handler has nowhere else to write to
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) { g_interrupted = true; }

}  // namespace

const std::atomic<bool>& interrupt_flag() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  return g_interrupted;
}

}  // namespace redline::cli
