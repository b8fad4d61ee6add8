// Reads and writes whole files, and owns file descriptors.
//
// A trace that grows while a job trains needs more (trace/emit/output_file.h): it is synchronised
// as it goes, read back, cut, and gets its name at the end.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace redline {

/// Owns a descriptor and closes it. get() is negative if the file could not be opened.
class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor) : fd_(descriptor) {}
  explicit FileDescriptor(const char* path) : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// The mode of new files, before the umask. With a umask of 0, as in some containers, others must
/// not be able to write.
inline constexpr mode_t kFileMode = 0664;

/// What the umask leaves of kFileMode. Asking by umask() would change the files that other threads
/// make meanwhile, so the kernel's text is read; where there is none, only the owner has rights.
[[nodiscard]] mode_t mode_of_new_files();

/// Owns a descriptor that stays open in a job. The job may close descriptors that it did not open,
/// and then a file of its own gets the number: get() is negative from then on, and the destructor
/// closes nothing.
class GuardedDescriptor {
 public:
  GuardedDescriptor() = default;
  explicit GuardedDescriptor(int descriptor);
  GuardedDescriptor(GuardedDescriptor&& other) noexcept { swap(other); }
  GuardedDescriptor& operator=(GuardedDescriptor&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GuardedDescriptor();
  [[nodiscard]] int get() const;
  /// Whether it was open once.
  [[nodiscard]] bool was_opened() const { return fd_ >= 0; }

 private:
  void swap(GuardedDescriptor& other) noexcept;

  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  /// Such a file ends with its descriptor, and the next file may get its inode, too.
  bool has_name_ = true;
};

/// What errno says after a call with a GuardedDescriptor.
[[nodiscard]] std::string error_of_guarded();

/// A folder of its own, which goes with what lies in it. path() is empty if it could not be made.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The content; empty if there is no such file or it cannot be read. Reads files of /proc, too,
/// whose size the kernel gives as 0.
[[nodiscard]] std::string read_file(const std::string& path);

/// Why somebody else could have changed the file, as a sentence with the cure; nullopt if only this
/// user and root can, or if there is no such file.
[[nodiscard]] std::optional<std::string> foreign_writer(const std::string& path);

/// False if not everything could be written, for example to a full disk; errno says why.
[[nodiscard]] bool write_all(int descriptor, std::string_view bytes);

/// Where the links of `path` lead, so that what replaces the file there leaves them alone. Links of
/// /proc to open files, such as /dev/stdout is, are not followed: what is open must be written to.
[[nodiscard]] std::string behind_links(const std::string& path);

/// Whether a file may get this name: either nothing has the name, or a regular file, which is then
/// replaced. A folder or a device must keep its name; root could replace even /dev/null.
[[nodiscard]] bool may_become_file(const std::string& path);

/// Where what becomes `path` is written until it is whole: PATH.PID.partial, behind links.
/// Processes that write the same file at once have one each.
[[nodiscard]] std::string partial_path(const std::string& path);

/// Makes `path` hold `content`. The content goes to partial_path(), which replaces the file in one
/// step once it is on the disk: readers see the old content or the new one, even after a crash or
/// where several processes write it. If `path` is a pipe or a device, the content is written
/// into that. The error is "PATH: why".
[[nodiscard]] tl::expected<void, std::string> write_file(const std::string& path,
                                                         std::string_view content);

}  // namespace redline
