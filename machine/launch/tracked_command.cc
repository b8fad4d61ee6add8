#include "machine/launch/tracked_command.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "machine/launch/command.h"
#include "machine/launch/process_tree.h"

namespace redline::launch {

namespace {

void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Signals that are ignored stay ignored after exec, so they are reset: the command must not
  // notice who started it.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD}) {
    signal(number, SIG_DFL);
  }
}

bool limit_data(const std::optional<uint64_t>& bytes) {
  if (!bytes) return true;
  const rlimit limit{*bytes, *bytes};
  return setrlimit(RLIMIT_DATA, &limit) == 0;
}

bool redirect_output(const TrackedOptions& options) {
  constexpr int kCreate = O_WRONLY | O_CREAT | O_TRUNC;
  if (!redirect(options.stdout_path.c_str(), kCreate, STDOUT_FILENO)) return false;
  // Opened twice, each would write over what the other has written.
  if (options.stderr_path == options.stdout_path) return dup2(STDOUT_FILENO, STDERR_FILENO) >= 0;
  return redirect(options.stderr_path.c_str(), kCreate, STDERR_FILENO);
}

bool pin_to(const std::vector<int>& cores) {
  if (cores.empty()) return true;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<size_t>(core), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace

tl::expected<pid_t, std::string> start_tracked(const TrackedOptions& options) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const uint64_t limit_mark = options.mark.empty() ? 0 : limit_of(options.mark);
  const auto pid = start_command(options.argv, options.environment, [&] {
    setsid();
    mark_by_limit(limit_mark);
    reset_signals();
    return redirect("/dev/null", O_RDONLY, STDIN_FILENO) && redirect_output(options) &&
           pin_to(options.cores) && limit_data(options.data_limit_bytes);
  });
  if (pid) return *pid;
  return tl::unexpected(start_problem(options.argv, pid.error()));
}

namespace {

constexpr std::chrono::milliseconds kGuardGrace{500};

/// Waits for the dismissal. An end of file instead means that the runner died. A command that it
/// had just forked holds the other end, too, until its exec: so at the end of file the command has
/// its mark.
[[noreturn]] void stand_guard(int dismissal, const std::string& mark,
                              const std::function<void()>& first) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  // Closes the runner's other pipes, whose readers would otherwise wait for ever.
  if (dismissal > 0) close_range(0, static_cast<unsigned>(dismissal) - 1, 0);
  close_range(static_cast<unsigned>(dismissal) + 1, ~0U, 0);
  (void)send(dismissal, "r", 1, MSG_NOSIGNAL);
  char byte = 0;
  ssize_t count = 0;
  do {
    count = read(dismissal, &byte, 1);
  } while (count < 0 && errno == EINTR);
  if (count == 0) {
    if (first) first();
    ProcessTree(mark).stop(kGuardGrace);
  }
  _exit(0);
}

}  // namespace

EndGuard::EndGuard(const std::string& mark, const std::function<void()>& first) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[1]);
    stand_guard(ends[0], mark, first);
  }
  close(ends[0]);
  dismissal_ = ends[1];
  // Until it has left our process group, a SIGKILL of the group would end it with us.
  char ready = 0;
  while (recv(dismissal_, &ready, 1, 0) < 0 && errno == EINTR) {
  }
}

EndGuard::~EndGuard() {
  if (dismissal_ < 0) return;
  (void)send(dismissal_, "q", 1, MSG_NOSIGNAL);
  close(dismissal_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

}  // namespace redline::launch
