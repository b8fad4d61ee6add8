#include "machine/launch/group_witness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "machine/launch/command.h"

namespace redline::launch {

GroupWitness::GroupWitness(const sigset_t& signals) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  reports_.emplace(ends[0]);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);  // it ended before the line above
    watch(signals, ends[1]);
  }
  close(ends[1]);
}

GroupWitness::~GroupWitness() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  static_cast<void>(wait_for_exit(process_));
}

void GroupWitness::watch(const sigset_t& signals, int to) {
  // Whoever reads what we print must not wait for this process.
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(standard);
  for (;;) {
    const int signal = sigwaitinfo(&signals, nullptr);
    const Report report{signal, monotonic_ns()};
    if (signal > 0 && write(to, &report, sizeof report) < 0 && errno != EAGAIN) _exit(0);
  }
}

bool GroupWitness::take(int signal) {
  // Equal signals that wait are one, for us and for the witness: they need not get the same number.
  constexpr int64_t kLongAgoNs = 200'000'000;
  Report report{};
  while (read(reports_->get(), &report, sizeof report) == sizeof report) {
    got_ns_[static_cast<size_t>(report.signal)] = report.time_ns;
  }
  const int64_t got_ns = got_ns_[static_cast<size_t>(signal)];
  return got_ns != 0 && monotonic_ns() - got_ns < kLongAgoNs;
}

bool GroupWitness::got(int signal) {
  constexpr int64_t kPatienceNs = 200'000'000;
  if (process_ <= 0) return false;
  const int64_t end_ns = monotonic_ns() + kPatienceNs;
  for (;;) {
    if (take(signal)) return true;
    const int64_t left_ms = (end_ns - monotonic_ns()) / 1'000'000;
    pollfd waiting{reports_->get(), POLLIN, 0};
    if (left_ms <= 0 || poll(&waiting, 1, static_cast<int>(left_ms)) <= 0) return take(signal);
  }
}

}  // namespace redline::launch
