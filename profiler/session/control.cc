#include "profiler/session/control.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/json_values.h"
#include "base/quiet_thread.h"
#include "profiler/request/trigger.h"
#include "profiler/session/capture.h"
#include "profiler/session/recorder.h"
#include "profiler/session/step_log.h"

namespace redline::profiler {
namespace {

using Json = nlohmann::json;
using Phase = Capture::Progress::Phase;

constexpr auto kWaitForDescriptor = std::chrono::milliseconds(200);
constexpr int kLookForSocketMs = 60'000;

/// A descriptor, or null. The job may close it and give its number to a file of its own.
using File = std::atomic<GuardedDescriptor*>;

// Global variables, because signal handlers and forked children need them.
std::atomic<pid_t> g_process = 0;
File g_wake[2] = {};  ///< a pipe
File g_listener = nullptr;
File g_client = nullptr;
std::mutex g_path_mutex;
char g_socket_path[sizeof(sockaddr_un::sun_path)] = "";

/// Negative if there is none, or if the job has closed it. Async-signal-safe.
int number_of(const File& file) {
  const GuardedDescriptor* const descriptor = file;
  return descriptor != nullptr ? descriptor->get() : -1;
}

/// Where the job has closed one end, what is written into the other one is never heard.
bool has_both_ends() { return number_of(g_wake[0]) >= 0 && number_of(g_wake[1]) >= 0; }

void hold(File& file, int number) { delete file.exchange(new GuardedDescriptor(number)); }

void close_file(File& file) { delete file.exchange(nullptr); }

void leave_in_child() {
  g_process = 0;
  for (auto* file : {&g_wake[0], &g_wake[1], &g_listener, &g_client}) close_file(*file);
}

void remove_socket() {
  if (!has_control_thread()) return;
  // A signal handler of the job may have come here by exit() while its thread holds the mutex.
  const std::unique_lock lock(g_path_mutex, std::try_to_lock);
  if (lock && g_socket_path[0] != '\0') unlink(g_socket_path);
}

void stop_hearing() {
  remove_socket();
  close_file(g_listener);
  close_file(g_client);
  g_process = 0;  // a signal handler may still look at the pipe, so that stays
}

tl::unexpected<std::string> system_error(const char* what) {
  return tl::unexpected(std::string(what) + ": " + std::strerror(errno));
}

bool is_own_user(int file) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

/// Waits at most a second, because a client sends its line at once or not at all.
std::string read_line(int file) {
  const timeval patience = {.tv_sec = 1, .tv_usec = 0};
  setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  std::string line;
  char bytes[4096];
  while (line.find('\n') == std::string::npos && line.size() < 2 * sizeof(bytes)) {
    const ssize_t size = recv(file, bytes, sizeof(bytes), 0);
    if (size <= 0) return "";
    line.append(bytes, static_cast<size_t>(size));
  }
  return line.substr(0, line.find('\n'));
}

void say(int file, const char* key, const std::string& text) {
  if (file < 0) return;
  const std::string line = json_text(Json{{key, text}});
  // Does not wait for a client that is gone or does not read.
  static_cast<void>(send(file, (line + "\n").data(), line.size() + 1, MSG_NOSIGNAL | MSG_DONTWAIT));
}

tl::expected<void, std::string> open_socket();

/// When a user logs out, the system removes XDG_RUNTIME_DIR with what lies in it.
void listen_again_if_removed() {
  if (number_of(g_listener) < 0) return;
  std::string path;
  {
    const std::lock_guard lock(g_path_mutex);
    path = g_socket_path;
  }
  // Any other error tells nothing, for example after the job has become another user.
  if (access(path.c_str(), F_OK) == 0 || errno != ENOENT) return;
  // It fails if somebody else has made the folder. Then the next look may do it.
  static_cast<void>(open_socket());
}

class Control {
 public:
  void run() {
    while (has_both_ends()) {
      pollfd files[] = {{number_of(g_wake[0]), POLLIN, 0},
                        {number_of(g_listener), POLLIN, 0},
                        {number_of(g_client), 0, 0}};
      const int ready = poll(files, 3, number_of(g_listener) >= 0 ? kLookForSocketMs : -1);
      if (ready < 0) continue;
      try {
        if (ready == 0) listen_again_if_removed();
        if (files[0].revents != 0) answer_bells();
        // First see whether the client has left, because a new one may have waited for that.
        if ((files[2].revents & (POLLHUP | POLLERR)) != 0) client_left();
        if (files[1].revents != 0) answer_call();
      } catch (const std::exception& exception) {
        fail(exception.what());  // the job's memory is full
      }
    }
    stop_hearing();
  }

  void set_defaults(const CaptureDefaults& defaults) {
    const std::lock_guard lock(mutex_);
    defaults_ = defaults;
  }

 private:
  void answer_bells() {
    char calls[64];
    const ssize_t count = read(number_of(g_wake[0]), calls, sizeof(calls));
    for (ssize_t i = 0; i < count; ++i) {
      answer(static_cast<Call>(calls[i]));
    }
    report_progress();
  }

  void answer(Call call) {
    switch (call) {
      case Call::kTerminate:
        return end_by(SIGTERM, "SIGTERM");
      case Call::kInterrupt:
        return end_by(SIGINT, "SIGINT");
      case Call::kCrash:
        Recorder::instance().finish(crash_name());
        remove_socket();
        return crash_is_recorded();
      case Call::kCapture:
        if (g_client != nullptr) return;  // a capture is under way, and its client waits for it
        return start_capture("{}", "SIGUSR2");
      case Call::kTold:
        return Recorder::instance().write_termination();
      case Call::kSlowStep:
        return Recorder::instance().write_slow_step();
      case Call::kListen:
        return listen_again_if_removed();
      case Call::kProgress:
        return;
    }
  }

  static void end_by(int signal, const char* reason) {
    Recorder::instance().finish(reason);
    StepLog::instance().close(128 + signal);
    remove_socket();
    die_of(signal);
  }

  void write_ring(const char* reason, const std::string& directory) {
    tell("progress", "writing what the flight recorder has");
    end_request(Recorder::instance().write_ring(reason, directory));
  }

  void answer_call() {
    const int file = accept4(number_of(g_listener), nullptr, nullptr, SOCK_CLOEXEC);
    if (file < 0) {
      // Without a free descriptor the call stays in the queue, and poll() would not wait.
      if (errno != EAGAIN) std::this_thread::sleep_for(kWaitForDescriptor);
      return;
    }
    const std::string line = is_own_user(file) ? read_line(file) : "";
    if (line.empty()) {
      close(file);  // the client only wanted to know whether this process listens
    } else if (g_client != nullptr) {
      say(file, "error", "a capture is under way already");
      close(file);
    } else {
      hold(g_client, file);
      start_capture(line, "redline trigger");
    }
  }

  void start_capture(const std::string& line, const char* reason) {
    const Json request = Json::parse(line, nullptr, false);
    if (!request.is_object()) return fail("the request is not understood");
    const std::string directory = text_in(request, "directory");
    if (Recorder::instance().has_ring()) return write_ring(reason, directory);
    CaptureDefaults wanted;
    {
      const std::lock_guard lock(mutex_);
      wanted = defaults_;
    }
    if (const int64_t steps = whole_in(request, "steps"); steps > 0) wanted.steps = steps;
    if (!directory.empty()) wanted.options.directory = directory;
    if (const auto gpu = request.find("gpu"); gpu != request.end() && *gpu == false) {
      wanted.options.record_gpu = false;
    }
    const auto armed = capture().arm(wanted.options, wanted.steps, reason);
    if (!armed) return fail(armed.error());
    tell("progress", "waiting for the next step");
  }

  void report_progress() {
    const auto progress = capture().progress();
    if (progress.phase == Phase::kRecording) {
      tell("progress",
           std::to_string(progress.done) + " of " + std::to_string(progress.steps) + " steps");
    } else if (progress.phase == Phase::kRecorded) {
      tell("progress", "writing");
      end_request(capture().write());
    } else if (progress.phase == Phase::kFailed) {
      fail(progress.why);
    }
  }

  static void tell(const char* key, const std::string& text) {
    say(number_of(g_client), key, text);
  }

  void end_request(const tl::expected<std::string, std::string>& path) {
    if (!path) return fail(path.error());
    tell("path", *path);
    close_file(g_client);
  }

  void fail(const std::string& why) {
    tell("error", why);
    close_file(g_client);
  }

  void client_left() {
    close_file(g_client);
    capture().give_up();
  }

  static Capture& capture() { return Recorder::instance().capture(); }

  std::mutex mutex_;
  CaptureDefaults defaults_;
};

Control& control() {
  static Control* const control = new Control;  // lives as long as its thread
  return *control;
}

tl::expected<void, std::string> open_socket() {
  const auto folder = launch::make_control_folder();
  if (!folder) return tl::unexpected(folder.error());
  const std::string path = launch::control_socket(*folder, getpid());
  const auto address = launch::socket_address(path);
  if (!address) return tl::unexpected(path + ": too long");
  unlink(path.c_str());  // a dead process had our number
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return system_error("socket");
  if (bind(file, reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0 ||
      listen(file, 16) != 0) {
    const auto error = system_error(path.c_str());
    close(file);
    return error;
  }
  {
    const std::lock_guard lock(g_path_mutex);
    std::strcpy(g_socket_path, address->sun_path);
  }
  hold(g_listener, file);
  static const int registered = std::atexit(remove_socket);
  static_cast<void>(registered);
  wake_control_thread(Call::kListen);
  return {};
}

}  // namespace

bool wake_control_thread(Call call) noexcept {
  const char byte = static_cast<char>(call);
  return has_control_thread() && has_both_ends() &&
         (write(number_of(g_wake[1]), &byte, 1) == 1 || errno == EAGAIN);
}

bool has_control_thread() noexcept { return g_process == getpid(); }

tl::expected<void, std::string> start_control_thread() {
  if (has_control_thread()) return {};
  int wake[2];
  if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) return system_error("pipe");
  for (const int end : {0, 1}) hold(g_wake[end], wake[end]);
  auto thread = start_quiet_thread([] { control().run(); });
  if (!thread) {
    for (auto& file : g_wake) close_file(file);
    return tl::unexpected(std::string("the system has no thread left"));
  }
  thread->detach();
  g_process = getpid();
  static const int registered = pthread_atfork(nullptr, nullptr, leave_in_child);
  static_cast<void>(registered);
  return {};
}

tl::expected<void, std::string> listen_for_captures(const CaptureDefaults& defaults) {
  control().set_defaults(defaults);
  if (number_of(g_listener) >= 0) return {};
  if (auto started = start_control_thread(); !started) return started;
  if (auto opened = open_socket(); !opened) return opened;
  capture_on_signal();
  return {};
}

}  // namespace redline::profiler
