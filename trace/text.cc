#include "trace/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace redline::trace {
namespace {

// What a file may grow by at most; only zeros come near it.
constexpr size_t kLargestGzipRatio = 1040;
constexpr size_t kLargestZstdRatio = 20'000;

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

Text::~Text() {
  progress_.stop = true;
  if (inflater_.joinable()) inflater_.join();
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes_);
}

std::shared_ptr<const Text> Text::of(std::string_view content) {
  auto text = std::make_shared<Text>();
  text->copy_ = content;
  text->file_ = text->copy_;
  return text;
}

tl::expected<std::shared_ptr<const Text>, ReadError> Text::load(const std::string& path,
                                                                const ReadOptions& options) {
  const FileDescriptor file(path);
  const auto bytes = size_of(path, file.get());
  if (!bytes) return tl::unexpected(bytes.error());

  auto text = std::make_shared<Text>();
  void* mapping = ::mmap(nullptr, *bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapping == MAP_FAILED) return tl::unexpected(cannot_read(path, std::strerror(errno)));
  text->mapping_ = mapping;
  text->mapping_bytes_ = *bytes;
  text->file_ = {static_cast<const char*>(mapping), *bytes};
  if (!is_gzip(text->file_) && !is_zstd(text->file_)) return text;

  const size_t ratio = is_gzip(text->file_) ? kLargestGzipRatio : kLargestZstdRatio;
  text->inflated_.emplace(*bytes * ratio, options.text_memory_bytes);
  try {
    text->inflater_ = std::thread([&text = *text] { text.inflate(); });
  } catch (const std::system_error&) {
    text->inflate();  // no thread left
  }
  if (text->at_least(1).text.empty()) {
    return tl::unexpected(cannot_read(path, "the compressed file holds nothing readable"));
  }
  return text;
}

void Text::inflate() {
  if (is_gzip(file_)) {
    inflate_gzip(file_, *inflated_, progress_, issues_);
  } else {
    inflate_zstd(file_, *inflated_, progress_, issues_);
  }
  inflated_->finish();
}

Text::Part Text::at_least(size_t bytes) const {
  return inflated_ ? inflated_->at_least(bytes) : Part{file_, true};
}

IssueLog Text::issues() const {
  static_cast<void>(view());
  return issues_;
}

size_t Text::file_bytes(size_t at) const {
  if (!inflated_) return at;
  // The inflater tells of text before it tells of the file's bytes that it came from.
  const size_t done = std::max<size_t>(1, progress_.file_bytes);
  const size_t inflated = std::max<size_t>(1, inflated_->at_least(0).text.size());
  const double share = std::min(1.0, static_cast<double>(at) / static_cast<double>(inflated));
  return static_cast<size_t>(std::ceil(static_cast<double>(done) * share));
}

}  // namespace redline::trace
