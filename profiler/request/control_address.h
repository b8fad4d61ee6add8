// Where a recorded process can be asked for a trace: a Unix socket named by its process id, in a
// folder that only its user can enter.
#pragma once

#include <sys/types.h>

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::launch {

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
