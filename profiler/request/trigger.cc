#include "profiler/request/trigger.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/json_values.h"
#include "machine/launch/process_tree.h"

namespace redline::launch {
namespace {

using Json = nlohmann::json;

uid_t user_of(pid_t process) {
  struct stat facts {};
  return stat(("/proc/" + std::to_string(process)).c_str(), &facts) == 0 ? facts.st_uid : geteuid();
}

bool is_below(pid_t process, pid_t ancestor) {
  while (process > 1 && process != ancestor) {
    process = read_process(process).value_or(ProcessEntry{}).parent;
  }
  return process == ancestor;
}

/// A connection to the process; -1 if there is none. Checks that this process listens, and not
/// another one that has its number by now.
int connect_to(pid_t process, const std::string& folder) {
  const std::string path = control_socket(folder, process);
  const auto address = socket_address(path);
  if (!address) return -1;
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) return -1;
  if (connect(file, reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) == 0) {
    ucred peer = {};
    socklen_t size = sizeof(peer);
    getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    if (peer.pid == process) return file;
  } else if (errno == ECONNREFUSED) {
    unlink(path.c_str());  // its process is dead
  }
  close(file);
  return -1;
}

int connect_to(pid_t process) {
  for (const std::string& folder : control_folders(user_of(process))) {
    if (const int file = connect_to(process, folder); file >= 0) return file;
  }
  return -1;
}

bool is_recorded(pid_t process) {
  const int file = connect_to(process);
  if (file >= 0) close(file);
  return file >= 0;
}

/// The connection to one process, with the part of the next line that has arrived.
class Conversation {
 public:
  Conversation(pid_t process, const TriggerRequest& request)
      : process_(process), file_(connect_to(process)) {
    Json json = {{"steps", request.steps}, {"gpu", request.with_gpu}};
    if (!request.directory.empty()) json["directory"] = request.directory;
    const std::string line = json_text(json) + "\n";
    if (file_ >= 0 && send(file_, line.data(), line.size(), MSG_NOSIGNAL) < 0) hang_up();
  }
  ~Conversation() { hang_up(); }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  [[nodiscard]] int file() const { return file_; }
  /// The first message only says that the process waits for a step.
  [[nodiscard]] bool has_begun() const { return heard_ > 1; }

  /// Gives the messages whose lines have arrived completely.
  std::vector<TriggerReport> hear() {
    std::vector<TriggerReport> reports;
    char bytes[4096];
    const ssize_t size = file_ >= 0 ? recv(file_, bytes, sizeof(bytes), 0) : 0;
    if (size < 0 && errno == EINTR) return reports;
    if (size <= 0) {
      hang_up();
      if (!is_done_) reports.push_back({process_, "", "", "the process ended before its trace"});
      return reports;
    }
    text_.append(bytes, static_cast<size_t>(size));
    for (size_t end = 0; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) {
      if (auto report = parse(text_.substr(0, end))) reports.push_back(*report);
    }
    return reports;
  }

 private:
  std::optional<TriggerReport> parse(const std::string& line) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    TriggerReport report = {process_, text_in(json, "progress"), text_in(json, "path"),
                            text_in(json, "error")};
    is_done_ = is_done_ || !report.path.empty() || !report.error.empty();
    ++heard_;
    return report;
  }
  void hang_up() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

  pid_t process_;
  int file_;
  std::string text_;
  bool is_done_ = false;
  int heard_ = 0;
};

}  // namespace

tl::expected<std::vector<pid_t>, std::string> recorded_processes(pid_t process) {
  const std::string name = "process " + std::to_string(process);
  if (kill(process, 0) != 0 && errno == ESRCH) return tl::unexpected("no " + name);
  if (is_recorded(process)) return std::vector{process};
  const uid_t user = user_of(process);
  if (user != geteuid() && geteuid() != 0) {
    return tl::unexpected(name + " belongs to another user (" + std::to_string(user) + ")");
  }
  std::vector<pid_t> below;
  for (const pid_t candidate : listening_processes(control_folders(user))) {
    if (is_below(candidate, process) && is_recorded(candidate)) below.push_back(candidate);
  }
  if (!below.empty()) return below;
  return tl::unexpected(name +
                        " is not recorded. Start it under `redline record --`, or have it use "
                        "redline.profile or redline::Profiler");
}

std::vector<pid_t> all_recorded_processes() {
  auto processes = listening_processes(control_folders(geteuid()));
  std::erase_if(processes, [](pid_t process) { return !is_recorded(process); });
  return processes;
}

void trigger(const std::vector<pid_t>& processes, const TriggerRequest& request,
             const std::function<void(const TriggerReport&)>& report,
             const std::atomic<bool>& cancelled) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<Conversation>> open;
  for (const pid_t process : processes) {
    open.push_back(std::make_unique<Conversation>(process, request));
  }
  while (!open.empty() && !cancelled) {
    std::vector<pollfd> files;
    for (const auto& conversation : open) files.push_back({conversation->file(), POLLIN, 0});
    constexpr int kLookMs = 200;  // at `cancelled`
    if (poll(files.data(), files.size(), kLookMs) < 0 && errno != EINTR) return;
    for (size_t i = 0; i < files.size(); ++i) {
      if (files[i].fd >= 0 && files[i].revents == 0) continue;
      for (const auto& said : open[i]->hear()) report(said);
    }
    const bool is_over =
        request.patience.count() > 0 && std::chrono::steady_clock::now() - begin > request.patience;
    std::erase_if(open, [is_over](const auto& conversation) {
      return conversation->file() < 0 || (is_over && !conversation->has_begun());
    });
  }
}

}  // namespace redline::launch
