#include "trace/emit/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace redline::trace {
namespace {

template <typename Call>
auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

OutputFile::OutputFile(std::string path, bool is_private)
    : path_(std::move(path)), is_private_(is_private) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC;
  const mode_t mode = is_private ? 0600 : kFileMode;
  const int descriptor = retried([&] { return ::open(path_.c_str(), kFlags, mode); });
  if (descriptor < 0) fail("cannot create");
  descriptor_ = GuardedDescriptor(descriptor);
}

void OutputFile::swap(OutputFile& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(error_, other.error_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_private_, other.is_private_);
  std::swap(size_, other.size_);
  std::swap(begun_, other.begun_);
}

void OutputFile::fail(const char* what) {
  if (error_.empty()) error_ = std::string(what) + " " + path_ + ": " + error_of_guarded();
}

void OutputFile::write(std::string_view bytes) {
  while (ok() && !bytes.empty()) {
    const auto written =
        retried([&] { return ::write(descriptor_.get(), bytes.data(), bytes.size()); });
    if (written < 0) return fail("cannot write");
    bytes.remove_prefix(static_cast<size_t>(written));
    size_ += static_cast<uint64_t>(written);
  }
}

void OutputFile::sync() {
  // EINVAL and EROFS: pipes and special files such as /dev/null cannot be synchronised.
  if (ok() && retried([&] { return ::fsync(descriptor_.get()); }) < 0 && errno != EINVAL &&
      errno != EROFS) {
    fail("cannot write");
  }
}

void OutputFile::begin_sync() {
  if (!ok() || size_ == begun_) return;
  // This is only a hint; sync() reports errors.
  ::sync_file_range(descriptor_.get(), static_cast<off_t>(begun_),
                    static_cast<off_t>(size_ - begun_), SYNC_FILE_RANGE_WRITE);
  begun_ = size_;
}

void OutputFile::truncate(uint64_t size) {
  if (!ok() || size == size_) return;
  const auto offset = static_cast<off_t>(size);
  if (::ftruncate(descriptor_.get(), offset) < 0 ||
      ::lseek(descriptor_.get(), offset, SEEK_SET) < 0) {
    return fail("cannot shorten");
  }
  size_ = size;
  begun_ = std::min(begun_, size);
}

tl::expected<void, std::string> OutputFile::rename(const std::string& final_path) {
  if (!ok()) return tl::unexpected(error_);
  if (!may_become_file(final_path)) return tl::unexpected(final_path + ": is not a file");
  if (::rename(path_.c_str(), behind_links(final_path).c_str()) < 0) {
    return tl::unexpected("cannot rename " + path_ + " to " + final_path + ": " +
                          std::strerror(errno));
  }
  path_ = final_path;
  if (is_private_) static_cast<void>(::fchmod(descriptor_.get(), mode_of_new_files()));
  return {};
}

void OutputFile::remove() {
  if (descriptor_.was_opened() && may_become_file(path_)) ::unlink(path_.c_str());  // no device
}

std::string OutputFile::read(uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  const auto count = retried(
      [&] { return ::pread(descriptor_.get(), bytes.data(), size, static_cast<off_t>(offset)); });
  if (count < 0) fail("cannot read");
  bytes.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return bytes;
}

}  // namespace redline::trace
