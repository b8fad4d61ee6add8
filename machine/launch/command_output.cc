#include "machine/launch/command_output.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace redline::launch {

namespace {

using Clock = std::chrono::steady_clock;

/// Starts the program with `output` as its stdout; 0 where that fails. It stays in our process
/// group, so that Ctrl-C ends it too.
pid_t start(const std::vector<std::string>& words, int output) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : 0;
}

/// Everything up to the end of the pipe; none where that does not come before `deadline`.
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

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::optional<std::string> command_output(const std::vector<std::string>& words,
                                          std::chrono::milliseconds time_limit) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = start(words, ends[1]);
  close(ends[1]);
  auto text = child == 0 ? std::nullopt : read_until(ends[0], Clock::now() + time_limit);
  close(ends[0]);
  if (child == 0) return std::nullopt;
  if (!text) kill(child, SIGKILL);
  const int status = wait_for(child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : std::nullopt;
}

}  // namespace redline::launch
