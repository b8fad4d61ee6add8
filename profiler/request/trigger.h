// How `redline trigger` asks recorded processes for a trace. Each of them listens on a Unix socket
// that has its process id and namespace in the name, in a folder that only its user can enter.
#pragma once

#include <sys/types.h>
#include <sys/un.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::launch {

/// The processes that `process` stands for: itself if it is recorded, otherwise its recorded
/// descendants (the ranks of a torchrun). The error is one line.
[[nodiscard]] tl::expected<std::vector<pid_t>, std::string> recorded_processes(pid_t process);

/// All recorded processes of this user. Removes sockets that dead processes have left behind.
[[nodiscard]] std::vector<pid_t> all_recorded_processes();

struct TriggerRequest {
  int64_t steps = 0;      ///< 0: the number that the process was started with
  std::string directory;  ///< absolute; "": the directory that the process was started with
  bool with_gpu = true;   ///< what GPUs do, too, if the process was started with that
  /// A process whose first step has not begun by then is left alone; 0: as long as it takes.
  std::chrono::nanoseconds patience = {};
};

/// One message of a process. The last message of each process has a path or an error.
struct TriggerReport {
  pid_t process = 0;
  std::string progress;  ///< such as "step 2 of 3"
  std::string path;      ///< the trace that was written
  std::string error;
};

/// Asks all processes at once and passes on their messages until all are done. If `cancelled` is
/// set, it returns early, and processes that have not begun yet will not, nor those that are left
/// alone.
void trigger(const std::vector<pid_t>& processes, const TriggerRequest& request,
             const std::function<void(const TriggerReport&)>& report,
             const std::atomic<bool>& cancelled);

/// The folders in which sockets of `user`'s processes may be. There are several, because a job that
/// was started elsewhere (ssh, Slurm) may have another XDG_RUNTIME_DIR.
[[nodiscard]] std::vector<std::string> control_folders(uid_t user);

/// Makes this user's folder for new sockets, checks that nobody else can enter it, and gives its
/// path. If it is in XDG_RUNTIME_DIR, the system removes it when the user logs out.
[[nodiscard]] tl::expected<std::string, std::string> make_control_folder();

/// Does the same for what running processes need until they end: /tmp/redline-UID.
[[nodiscard]] tl::expected<std::string, std::string> make_lasting_folder();

/// True if `path` is a folder of `user`, no link, and others have no rights. Everybody can write to
/// /tmp, so somebody else may have put something there under our name.
[[nodiscard]] bool is_private_folder(const std::string& path, uid_t user);

[[nodiscard]] std::string control_socket(const std::string& folder, pid_t process);
/// nullopt if `path` is too long for a socket.
[[nodiscard]] std::optional<sockaddr_un> socket_address(const std::string& path);

/// The ids of processes that have a socket in one of `folders`, sorted. Some may be dead.
[[nodiscard]] std::vector<pid_t> listening_processes(const std::vector<std::string>& folders);

}  // namespace redline::launch
