#include "trace/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "trace/inflate.h"

namespace redline::trace {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

ReadError cannot_read(const std::string& path, const std::string& why) {
  return {fmt::format("{}: {}. Give a trace file (*.pt.trace.json, .gz) or a folder of them", path,
                      why)};
}

// The file's size, once it is sure that it is a file with something in it.
tl::expected<size_t, ReadError> size_of(const std::string& path, int fd) {
  struct stat info {};
  if (fd < 0 || ::fstat(fd, &info) != 0) {
    return tl::unexpected(cannot_read(path, std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) return tl::unexpected(cannot_read(path, "is a folder"));
  if (!S_ISREG(info.st_mode)) return tl::unexpected(cannot_read(path, "is no regular file"));
  if (info.st_size == 0) return tl::unexpected(cannot_read(path, "the file is empty"));
  return static_cast<size_t>(info.st_size);
}

}  // namespace

GrowingBuffer::GrowingBuffer(GrowingBuffer&& other) noexcept { *this = std::move(other); }

GrowingBuffer& GrowingBuffer::operator=(GrowingBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

GrowingBuffer::~GrowingBuffer() { std::free(data_); }

char* GrowingBuffer::reserve_more(size_t bytes) {
  if (capacity_ - size_ < bytes) {
    const size_t wanted = std::max(size_ + bytes, capacity_ + capacity_ / 2);
    void* grown = std::realloc(data_, wanted);
    if (grown == nullptr) return nullptr;
    data_ = static_cast<char*>(grown);
    capacity_ = wanted;
  }
  return data_ + size_;
}

Text::~Text() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes_);
}

std::shared_ptr<const Text> Text::of(std::string_view content) {
  auto text = std::make_shared<Text>();
  char* room = text->buffer_.reserve_more(content.size() + 1);
  std::copy(content.begin(), content.end(), room);
  text->buffer_.commit(content.size());
  text->view_ = text->buffer_.view();
  return text;
}

tl::expected<std::shared_ptr<const Text>, ReadError> Text::load(const std::string& path,
                                                                const ReadOptions& options,
                                                                IssueLog& issues) {
  const FileDescriptor file(path);
  const auto bytes = size_of(path, file.get());
  if (!bytes) return tl::unexpected(bytes.error());

  auto text = std::make_shared<Text>();
  void* mapping = ::mmap(nullptr, *bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapping == MAP_FAILED) return tl::unexpected(cannot_read(path, std::strerror(errno)));
  text->mapping_ = mapping;
  text->mapping_bytes_ = *bytes;
  ::madvise(mapping, *bytes, MADV_SEQUENTIAL);
  const std::string_view content(static_cast<const char*>(mapping), *bytes);
  text->view_ = content;
  if (!is_gzip(content) && !is_zstd(content)) return text;

  const auto progress = [&](size_t done) {
    if (options.progress) options.progress(done / 2, content.size());
    return options.cancel == nullptr || !options.cancel->load();
  };
  text->buffer_ = is_gzip(content) ? inflate_gzip(content, progress, issues)
                                   : inflate_zstd(content, progress, issues);
  ::munmap(std::exchange(text->mapping_, nullptr), *bytes);
  text->view_ = text->buffer_.view();
  if (text->view_.empty()) {
    return tl::unexpected(cannot_read(path, "the compressed file holds nothing readable"));
  }
  return text;
}

}  // namespace redline::trace
