// How `redline trigger` asks recorded processes for a trace: each listens on a Unix socket that is
// named by its process id, in a folder that only its user can enter.
#pragma once

#include <sys/types.h>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::launch {

/// The processes that `process` stands for: itself where it is recorded, else the recorded ones
/// below it (the ranks of a torchrun). The error is one line.
[[nodiscard]] tl::expected<std::vector<pid_t>, std::string> recorded_processes(pid_t process);

/// All of this user. Sockets that dead processes left behind are removed.
[[nodiscard]] std::vector<pid_t> all_recorded_processes();

struct TriggerRequest {
  int64_t steps = 0;      ///< 0: as many as the process was started with
  std::string directory;  ///< absolute; "": the process's own
};

/// What a process says, in order; the last of each has a path or an error.
struct TriggerReport {
  pid_t process = 0;
  std::string progress;  ///< such as "step 2 of 3"
  std::string path;      ///< of the trace that was written
  std::string error;
};

/// Asks all at once and passes on what each says, until all are done or `cancelled` is set: then
/// processes that have not begun yet are let off.
void trigger(const std::vector<pid_t>& processes, const TriggerRequest& request,
             const std::function<void(const TriggerReport&)>& report,
             const std::atomic<bool>& cancelled);

/// Where sockets of `user`'s processes may be. A job started elsewhere (ssh, Slurm) may have had
/// another XDG_RUNTIME_DIR, so there is more than one place.
[[nodiscard]] std::vector<std::string> control_folders(uid_t user);

/// Makes this user's folder for new sockets and checks that nobody else can enter it: its path.
[[nodiscard]] tl::expected<std::string, std::string> make_control_folder();

/// True for a real folder of `user` without rights for others. /tmp is everybody's: a name there
/// may be someone's trap.
[[nodiscard]] bool is_private_folder(const std::string& path, uid_t user);

[[nodiscard]] std::string control_socket(const std::string& folder, pid_t process);

/// Process ids with a socket in one of `folders`, sorted; whether they live is not known.
[[nodiscard]] std::vector<pid_t> listening_processes(const std::vector<std::string>& folders);

}  // namespace redline::launch
