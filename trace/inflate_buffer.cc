#include "trace/inflate_buffer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

namespace redline::trace {
namespace {

constexpr size_t kStep = 64 << 20;  // a multiple of every page size

size_t round_up(size_t bytes) { return (bytes + kStep - 1) / kStep * kStep; }

size_t free_memory_bytes() {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(::fopen("/proc/meminfo", "re"), &::fclose);
  char line[256];
  size_t kilobytes = 0;
  while (file != nullptr && ::fgets(line, sizeof line, file.get()) != nullptr) {
    if (::sscanf(line, "MemAvailable: %zu kB", &kilobytes) == 1) return kilobytes << 10;
  }
  return size_t{1} << 30;
}

// A file in the folder for temporary files that goes with its descriptor; -1 where none can be.
int open_unnamed_file() {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(ignored);
  const int unnamed = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (unnamed >= 0) return unnamed;
  std::string path = (folder / "redline-text-XXXXXX").string();
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

}  // namespace

InflateBuffer::InflateBuffer(size_t largest, size_t memory_bytes)
    : memory_bytes_(round_up(memory_bytes > 0 ? memory_bytes : free_memory_bytes() / 2)) {
  for (size_t bytes = round_up(largest); bytes >= kStep; bytes = round_up(bytes / 2 + 1)) {
    void* const region =
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region != MAP_FAILED) {
      data_ = static_cast<char*>(region);
      reserved_ = bytes;
      return;
    }
    if (bytes == kStep) return;
  }
}

InflateBuffer::~InflateBuffer() {
  if (data_ != nullptr) ::munmap(data_, reserved_);
  if (file_ >= 0) ::close(file_);
}

char* InflateBuffer::room(size_t bytes) {
  const size_t size = size_.load(std::memory_order_relaxed);
  if (size + bytes > usable_ && !extend(round_up(size + bytes) - usable_)) return nullptr;
  return data_ + size;
}

bool InflateBuffer::extend(size_t bytes) {
  if (usable_ + bytes > reserved_) {
    error_ = "no address space left for it";
    return false;
  }
  if (usable_ >= memory_bytes_) return map_file(bytes);
  if (::mprotect(data_ + usable_, bytes, PROT_READ | PROT_WRITE) != 0) {
    error_ = std::strerror(errno);
    return false;
  }
  ::madvise(data_ + usable_, bytes, MADV_HUGEPAGE);
  usable_ += bytes;
  return true;
}

bool InflateBuffer::map_file(size_t bytes) {
  const auto failed = [&](int reason) {
    error_ = fmt::format("temporary file: {}", std::strerror(reason));
    return false;
  };
  if (file_ < 0) file_ = open_unnamed_file();
  if (file_ < 0) return failed(errno);
  // Allocated now, because a full disk would otherwise be a SIGBUS later.
  const size_t begin = usable_ - memory_bytes_;
  const int error = ::posix_fallocate(file_, static_cast<off_t>(begin), static_cast<off_t>(bytes));
  if (error != 0) return failed(error);
  void* const mapped = ::mmap(data_ + usable_, bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED, file_, static_cast<off_t>(begin));
  if (mapped == MAP_FAILED) return failed(errno);
  usable_ += bytes;
  return true;
}

void InflateBuffer::commit(size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    size_ += bytes;
  }
  grown_.notify_all();
}

void InflateBuffer::finish() {
  {
    const std::lock_guard lock(mutex_);
    is_whole_ = true;
  }
  grown_.notify_all();
}

InflateBuffer::Part InflateBuffer::at_least(size_t bytes) const {
  if (size_ < bytes && !is_whole_) {
    std::unique_lock lock(mutex_);
    grown_.wait(lock, [&] { return size_ >= bytes || is_whole_; });
  }
  const bool is_whole = is_whole_;  // read first: the size is final then
  return {{data_, size_}, is_whole};
}

}  // namespace redline::trace
