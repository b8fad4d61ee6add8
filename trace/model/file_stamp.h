// What tells one state of a file from another without reading it.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace redline::trace {

struct FileStamp {
  uint64_t bytes = 0;
  uint64_t inode = 0;
  int64_t modified_s = 0;
  int64_t modified_ns = 0;

  [[nodiscard]] static FileStamp of(const struct stat& info) {
    return {static_cast<uint64_t>(info.st_size), info.st_ino, info.st_mtim.tv_sec,
            info.st_mtim.tv_nsec};
  }
  bool operator==(const FileStamp&) const = default;
};

}  // namespace redline::trace
