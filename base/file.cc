#include "base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace redline {
namespace {

namespace fs = std::filesystem;

/// Gives 0, or errno after an error.
int write_and_sync(const std::string& path, std::string_view content, bool is_file) {
  const int create = is_file ? O_CREAT | O_TRUNC : O_APPEND;
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | create, kFileMode));
  const bool done =
      file.get() >= 0 && write_all(file.get(), content) && (!is_file || ::fsync(file.get()) == 0);
  return done ? 0 : errno;
}

int replace_file(const std::string& path, std::string_view content) {
  // Two searches that share a study may write their best configuration at the same time.
  const std::string partial = partial_path(path);
  int error = write_and_sync(partial, content, true);
  if (error == 0 && std::rename(partial.c_str(), path.c_str()) == 0) return 0;
  if (error == 0) error = errno;
  ::unlink(partial.c_str());
  return error;
}

}  // namespace

GuardedDescriptor::GuardedDescriptor(int descriptor) : fd_(descriptor) {
  struct stat file {};
  ::fstat(fd_, &file);
  device_ = file.st_dev;
  inode_ = file.st_ino;
  has_name_ = file.st_nlink > 0;
}

GuardedDescriptor::~GuardedDescriptor() {
  if (const int descriptor = get(); descriptor >= 0) ::close(descriptor);
}

void GuardedDescriptor::swap(GuardedDescriptor& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  std::swap(has_name_, other.has_name_);
}

int GuardedDescriptor::get() const {
  struct stat file {};
  const bool is_same = ::fstat(fd_, &file) == 0 && file.st_dev == device_ && file.st_ino == inode_;
  return is_same && (has_name_ || file.st_nlink == 0) ? fd_ : -1;
}

std::string error_of_guarded() {
  return errno == EBADF ? "the program has closed this file" : std::strerror(errno);
}

ScratchFolder::ScratchFolder(const std::string& name) {
  std::error_code error;
  std::string path = fs::temp_directory_path(error) / (name + "-XXXXXX");
  if (::mkdtemp(path.data()) != nullptr) path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

mode_t mode_of_new_files() {
  constexpr std::string_view kKey = "\nUmask:";
  const std::string status = read_file("/proc/self/status");
  const size_t at = status.find(kKey);
  if (at == std::string::npos) return kFileMode & 0700;
  return kFileMode & ~static_cast<mode_t>(std::strtoul(&status[at + kKey.size()], nullptr, 8));
}

std::optional<std::string> foreign_writer(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return std::nullopt;
  if ((file.st_mode & S_IWOTH) != 0) {
    return path + " can be changed by every user of this machine: chmod o-w " + path;
  }
  if (file.st_uid == 0 || file.st_uid == ::geteuid()) return std::nullopt;
  return path + " belongs to another user, who may change it: copy it, and look at the copy";
}

std::string read_file(const std::string& path) {
  std::string text;
  const FileDescriptor file(path.c_str());
  char bytes[16384];
  for (;;) {
    const ssize_t size = ::read(file.get(), bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(bytes, static_cast<size_t>(size));
  }
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string behind_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel's own
  fs::path end = path;
  std::error_code none;
  for (int i = 0; i < kMostLinks && fs::is_symlink(end, none); ++i) {
    if (fs::canonical(end.parent_path() / ".", none).native().starts_with("/proc/")) break;
    end = end.parent_path() / fs::read_symlink(end, none);  // an absolute one stands alone
  }
  return end;
}

bool may_become_file(const std::string& path) {
  struct stat status = {};
  return ::lstat(behind_links(path).c_str(), &status) < 0 || S_ISREG(status.st_mode);
}

std::string partial_path(const std::string& path) {
  return behind_links(path) + "." + std::to_string(::getpid()) + ".partial";
}

tl::expected<void, std::string> write_file(const std::string& path, std::string_view content) {
  const int error = may_become_file(path) ? replace_file(behind_links(path), content)
                                          : write_and_sync(path, content, false);
  if (error == 0) return {};
  return tl::unexpected(path + ": " + std::strerror(error));
}

}  // namespace redline
