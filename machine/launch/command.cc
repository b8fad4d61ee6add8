#include "machine/launch/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "base/format.h"
#include "base/secrets.h"
#include "machine/launch/group_witness.h"

namespace redline::launch {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// The errno that the child wrote to `pipe`; 0 if exec has closed the pipe.
int exec_error(int pipe) {
  int error = 0;
  ssize_t size = 0;
  do {
    size = read(pipe, &error, sizeof error);
  } while (size < 0 && errno == EINTR);
  return size == sizeof error ? error : 0;
}

tl::unexpected<std::string> reason(int error) {
  return tl::unexpected(std::string(std::strerror(error)));
}

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/// While an object of this class exists, the signals above and SIGCHLD wait for sigwaitinfo().
class HeldSignals {
 public:
  HeldSignals() {
    // If our caller ignores SIGCHLD, the kernel would throw the command's status away.
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

  /// Restores the signals. The child also calls it, before it becomes the command.
  void restore() const {
    sigaction(SIGCHLD, &child_action_, nullptr);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  [[nodiscard]] int wait() const {
    int signal = 0;
    while ((signal = sigwaitinfo(&held_, nullptr)) < 0 && errno == EINTR) {
    }
    return signal;
  }
  [[nodiscard]] const sigset_t& held() const { return held_; }

 private:
  sigset_t held_{};
  sigset_t before_{};
  struct sigaction child_action_ {};
};

std::string how_it_ended(int wait_status) {
  if (!WIFSIGNALED(wait_status)) {
    return "ended with status " + std::to_string(WEXITSTATUS(wait_status));
  }
  const int signal = WTERMSIG(wait_status);
  return "was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

/// The errno that exec of this file would give, as far as that shows beforehand, or 0.
int problem_of_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

/// The same for a program that execvpe() looks for in PATH.
int problem_of_name(const std::string& name) {
  const char* path = std::getenv("PATH");
  // Nothing behind the last colon is a folder, too: the current one.
  std::istringstream folders(std::string(path != nullptr ? path : "/bin:/usr/bin") + ":");
  int problem = ENOENT;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const int here = problem_of_file((folder.empty() ? "." : folder) + "/" + name);
    if (here == 0) return 0;
    if (here == EACCES) problem = EACCES;
  }
  return problem;
}

/// "OMP_NUM_THREADS=1", which only a shell takes for more than a program's name.
bool sets_variable(const std::string& word) {
  const size_t end = word.find('=');
  return end != 0 && end != std::string::npos &&
         std::all_of(word.data(), word.data() + end,
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

int wait_passing_on(pid_t child, const HeldSignals& signals, GroupWitness& group) {
  for (;;) {
    int status = 0;
    const bool has_news = waitpid(child, &status, WNOHANG) == child;
    if (has_news && !WIFSTOPPED(status)) return exit_status(status);  // we may stop it (ptrace)
    const int signal = signals.wait();
    if (signal > 0 && signal != SIGCHLD && !group.got(signal)) kill(child, signal);
  }
}

/// Everything up to the end of the pipe; nullopt if the end does not come before `deadline`.
std::optional<std::string> read_until(int pipe, Clock::time_point deadline) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waiting{pipe, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    const ssize_t size = read(pipe, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(size));
  }
}

}  // namespace

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

int wait_for_exit(pid_t child) { return exit_status(wait_for(child)); }

bool redirect(const char* path, int flags, int target) {
  const int file = open(path, flags, 0644);
  return file >= 0 && dup2(file, target) >= 0 && (file == target || close(file) == 0);
}

tl::expected<pid_t, std::string> start_command(const std::vector<std::string>& command,
                                               const std::vector<std::string>& environment,
                                               const std::function<bool()>& prepare) {
  const std::vector<char*> argv = pointers(command);
  const std::vector<char*> envp = pointers(environment);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return reason(errno);
  const FileDescriptor report(ends[0]);
  const pid_t child = fork();
  if (child == 0) {
    if (prepare()) execvpe(argv[0], argv.data(), envp.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(ends[1], &error, sizeof error);
    _exit(127);
  }
  const int fork_error = errno;
  close(ends[1]);
  if (child < 0) return reason(fork_error);
  const int error = exec_error(report.get());
  if (error == 0) return child;
  static_cast<void>(wait_for(child));
  return reason(error);
}

std::string why_no_program(const std::string& word) {
  const bool is_name = !word.empty() && word.find('/') == std::string::npos;
  const int problem = is_name ? problem_of_name(word) : problem_of_file(word);
  return problem == 0 ? "" : std::strerror(problem);
}

std::string start_problem(const std::vector<std::string>& command, const std::string& why,
                          const std::string& otherwise) {
  const std::string& word = command.front();
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(word, ignored);
  const bool is_alone = command.size() == 1;
  const std::string shown = without_secrets(std::string_view(word));
  std::string problem = shown + ": " + why;
  if (is_file && word.ends_with(".py")) {
    problem += ". Start it with Python: python " + format_command({shown});
  } else if (!is_alone && sets_variable(word)) {
    problem += ". Put env before it, which sets variables: env " + format_command({shown});
  } else if (!is_file && word.find(' ') != std::string::npos) {
    problem += ". If these are several words, give them without quotes";
  } else if (!otherwise.empty()) {
    problem += ". " + otherwise;
  }
  return problem;
}

tl::expected<int, std::string> run_command(const std::vector<std::string>& command,
                                           const Environment& environment) {
  const HeldSignals signals;
  GroupWitness group(signals.held());
  const auto child = start_command(command, environment.strings(), [&] {
    signals.restore();
    return true;
  });
  if (!child) return tl::unexpected(child.error());
  return wait_passing_on(*child, signals, group);
}

tl::expected<std::string, std::string> command_output(const std::vector<std::string>& command,
                                                      std::chrono::milliseconds time_limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return reason(errno);
  const FileDescriptor pipe(ends[0]);
  const auto child = start_command(command, Environment::current().strings(), [&] {
    return redirect("/dev/null", O_RDONLY, STDIN_FILENO) && dup2(ends[1], STDOUT_FILENO) >= 0 &&
           redirect("/dev/null", O_WRONLY, STDERR_FILENO);
  });
  close(ends[1]);
  if (!child) return tl::unexpected("did not start: " + child.error());
  auto text = read_until(pipe.get(), Clock::now() + time_limit);
  if (!text) kill(*child, SIGKILL);
  const int status = wait_for(*child);
  if (!text) return tl::unexpected("did not end in " + format_wait(time_limit));
  if (status != 0) return tl::unexpected(how_it_ended(status));
  return *std::move(text);
}

}  // namespace redline::launch
