#include "profiler/request/trigger.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/pid_namespace.h"

namespace redline::launch {
namespace {

// Containers that share the folder have processes of the same number, so a name also has that of
// the namespace in which the number holds.
const std::string& ending() {
  static const std::string ending = [] {
    const uint64_t space = pid_namespace();
    return (space != 0 ? "." + std::to_string(space) : std::string()) + ".sock";
  }();
  return ending;
}

std::string shared_folder(uid_t user) { return "/tmp/redline-" + std::to_string(user); }

std::string runtime_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime == nullptr || *runtime != '/') return "";
  return is_private_folder(runtime, geteuid()) ? std::string(runtime) + "/redline" : "";
}

tl::expected<std::string, std::string> make_private(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return tl::unexpected(folder + ": " + std::strerror(errno));
  }
  if (!is_private_folder(folder, geteuid())) {
    return tl::unexpected(folder + ": not a folder that only this user can enter");
  }
  return folder;
}

pid_t process_of(const std::string& name) {
  pid_t process = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, process);
  return error == std::errc() && std::string_view(rest, end) == ending() ? process : 0;
}

}  // namespace

bool is_private_folder(const std::string& path, uid_t user) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == user &&
         (facts.st_mode & 077) == 0;
}

std::vector<std::string> control_folders(uid_t user) {
  std::vector<std::string> folders;
  if (user == geteuid()) folders.push_back(runtime_folder());
  folders.push_back("/run/user/" + std::to_string(user) + "/redline");
  folders.push_back(shared_folder(user));
  std::ranges::sort(folders);
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  std::erase_if(folders, [&](const auto& folder) { return !is_private_folder(folder, user); });
  return folders;
}

tl::expected<std::string, std::string> make_control_folder() {
  const std::string runtime = runtime_folder();
  return runtime.empty() ? make_lasting_folder() : make_private(runtime);
}

tl::expected<std::string, std::string> make_lasting_folder() {
  return make_private(shared_folder(geteuid()));
}

std::string control_socket(const std::string& folder, pid_t process) {
  return folder + "/" + std::to_string(process) + ending();
}

std::optional<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = ""};
  if (path.size() >= sizeof(address.sun_path)) return std::nullopt;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

std::vector<pid_t> listening_processes(const std::vector<std::string>& folders) {
  std::vector<pid_t> processes;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const pid_t process = process_of(entry.path().filename().string());
      if (process > 0) processes.push_back(process);
    }
  }
  std::ranges::sort(processes);
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
  return processes;
}

}  // namespace redline::launch
