#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace redline {

/// The namespace in which this process's number holds: two containers may have the same numbers. 0
/// if it is not known.
[[nodiscard]] inline uint64_t pid_namespace() {
  struct stat facts {};
  return ::stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

}  // namespace redline
