// Files that are read or written whole, and the descriptor that both need.
//
// What grows while a job trains is another thing (trace/emit/output_file.h): it is synchronised as
// it goes, read back, cut, and named at the end.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace redline {

/// Closed with its owner; get() is negative where opening failed.
class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor) : fd_(descriptor) {}
  explicit FileDescriptor(const char* path) : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// Empty where there is no such file or it cannot be read. Also of /proc, whose files have no size.
[[nodiscard]] std::string read_file(const std::string& path);

/// False where the disk is full, or the like (errno).
[[nodiscard]] bool write_all(int descriptor, std::string_view bytes);

/// Whether a file may take that name: nothing has it, or a file has, but no folder and no device
/// such as /dev/null, which root could replace.
[[nodiscard]] bool may_become_file(const std::string& path);

/// `path` then holds `content`. A file is replaced in one step, after a PATH.partial beside it has
/// reached the disk: readers see the old content or the new one, also after a crash. A pipe or a
/// device is written to. The error is "PATH: why".
[[nodiscard]] tl::expected<void, std::string> write_file(const std::string& path,
                                                         std::string_view content);

}  // namespace redline
