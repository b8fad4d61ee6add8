#include "machine/launch/run_command.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace redline::launch {

namespace {

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/// While it lives, the signals above and SIGCHLD wait for sigwaitinfo.
class HeldSignals {
 public:
  HeldSignals() {
    // A caller that ignores SIGCHLD would have the kernel swallow the command's status.
    struct sigaction wanted {};
    wanted.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &wanted, &child_action_);
    sigemptyset(&held_);
    sigaddset(&held_, SIGCHLD);
    for (const int signal : kPassedOn) sigaddset(&held_, signal);
    sigprocmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() { restore(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Puts back what the process had; the command's process does it before it becomes the command.
  void restore() const {
    sigaction(SIGCHLD, &child_action_, nullptr);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  [[nodiscard]] siginfo_t wait() const {
    siginfo_t info{};
    while (sigwaitinfo(&held_, &info) < 0 && errno == EINTR) {
    }
    return info;
  }

 private:
  sigset_t held_{};
  sigset_t before_{};
  struct sigaction child_action_ {};
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// The errno of a failed exec, which the command's process writes to `pipe`; 0 where exec closed
/// it.
int exec_error(int pipe) {
  int error = 0;
  ssize_t size = 0;
  do {
    size = read(pipe, &error, sizeof error);
  } while (size < 0 && errno == EINTR);
  close(pipe);
  return size == sizeof error ? error : 0;
}

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/// Whether a process sent the signal; the terminal's own come from the kernel, to the whole group.
bool sent_to_us_alone(const siginfo_t& info) { return info.si_code <= 0; }

int wait_for(pid_t child, const HeldSignals& signals) {
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return exit_status(status);
    const siginfo_t info = signals.wait();
    if (info.si_signo != SIGCHLD && sent_to_us_alone(info)) kill(child, info.si_signo);
  }
}

}  // namespace

tl::expected<int, std::string> run_command(const std::vector<std::string>& command,
                                           const Environment& environment) {
  const std::vector<std::string> variables = environment.strings();
  const std::vector<char*> argv = pointers(command);
  const std::vector<char*> envp = pointers(variables);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return tl::unexpected(std::string(std::strerror(errno)));
  const HeldSignals signals;
  const pid_t child = fork();
  if (child == 0) {
    signals.restore();
    execvpe(argv[0], argv.data(), envp.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(report[1], &error, sizeof error);
    _exit(127);
  }
  const int fork_error = errno;
  close(report[1]);
  if (child < 0) {
    close(report[0]);
    return tl::unexpected(std::string(std::strerror(fork_error)));
  }
  const int error = exec_error(report[0]);
  const int status = wait_for(child, signals);
  if (error != 0) return tl::unexpected(std::string(std::strerror(error)));
  return status;
}

}  // namespace redline::launch
