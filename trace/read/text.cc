#include "trace/read/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>

#include "base/file.h"

namespace redline::trace {
namespace {

// The largest factor by which gzip can compress; only zeros come near it.
constexpr size_t kLargestGzipRatio = 1040;
constexpr size_t kLargestZstdRatio = 20'000;

const auto kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));

ReadError cannot_read(const std::string& path, const std::string& why) {
  return {fmt::format("{}: {}. Give a trace file (*.pt.trace.json, .gz) or a folder of them", path,
                      why)};
}

// The file's state; an error if it is no file or is empty.
tl::expected<FileStamp, ReadError> stamp_of(const std::string& path, int fd) {
  struct stat info {};
  if (fd < 0 || ::fstat(fd, &info) != 0) {
    return tl::unexpected(cannot_read(path, std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) return tl::unexpected(cannot_read(path, "is a folder"));
  if (!S_ISREG(info.st_mode)) return tl::unexpected(cannot_read(path, "is no regular file"));
  if (info.st_size == 0) return tl::unexpected(cannot_read(path, "the file is empty"));
  return FileStamp::of(info);
}

}  // namespace

Text::~Text() {
  if (inflation_) inflation_->buffer.stop();
  if (inflation_ && inflation_->thread.joinable()) inflation_->thread.join();
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes_);
}

std::shared_ptr<const Text> Text::of(std::string_view content) {
  auto text = std::make_shared<Text>();
  text->copy_ = content;
  text->file_ = text->copy_;
  return text;
}

tl::expected<std::shared_ptr<const Text>, ReadError> Text::open(const std::string& path,
                                                                const ReadOptions& options) {
  // O_NONBLOCK: opening a pipe would wait for its writer, and pipes are refused below.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto stamp = stamp_of(path, file.get());
  if (!stamp) return tl::unexpected(stamp.error());

  auto text = std::make_shared<Text>();
  const size_t bytes = stamp->bytes;
  void* mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapping == MAP_FAILED) return tl::unexpected(cannot_read(path, std::strerror(errno)));
  text->mapping_ = mapping;
  text->mapping_bytes_ = bytes;
  text->path_ = path;
  text->stamp_ = *stamp;
  text->file_ = {static_cast<const char*>(mapping), bytes};
  const bool is_compressed = is_gzip(text->file_) || is_zstd(text->file_);
  text->file_ =
      text->file_.substr(0, options.most_text_bytes / (is_compressed ? kUsualTextRatio : 1));
  if (!is_compressed) return text;

  const size_t ratio = is_gzip(text->file_) ? kLargestGzipRatio : kLargestZstdRatio;
  text->inflation_ =
      std::make_unique<Inflation>(InflateBuffer::Limits{.text_bytes = bytes * ratio,
                                                        .memory_bytes = options.text_memory_bytes,
                                                        .block_bytes = options.text_block_bytes});
  return text;
}

tl::expected<std::shared_ptr<const Text>, ReadError> Text::load(const std::string& path,
                                                                const ReadOptions& options) {
  auto text = open(path, options);
  if (!text) return text;
  return (*text)->check(path).map([&] { return *text; });
}

tl::expected<void, ReadError> Text::check(const std::string& path) const {
  if (!at_least(1).text.empty()) return {};
  return tl::unexpected(cannot_read(path, "the compressed file holds nothing readable"));
}

void Text::Inflation::run(std::string_view file) {
  if (is_gzip(file)) {
    inflate_gzip(file, buffer, file_bytes, issues);
  } else {
    inflate_zstd(file, buffer, file_bytes, issues);
  }
  buffer.finish();
}

void Text::Inflation::begin(std::string_view file) {
  try {
    thread = std::thread([this, file] { run(file); });
  } catch (const std::system_error&) {
    run(file);  // no thread is left, so inflate here
  }
}

Text::Part Text::at_least(size_t bytes) const {
  if (!inflation_) return {file_, true};
  std::call_once(inflation_->begun, [&] { inflation_->begin(file_); });
  return inflation_->buffer.at_least(bytes);
}

void Text::end_here() const {
  if (inflation_) inflation_->buffer.stop();
}

void Text::release(size_t from, size_t to) const {
  if (inflation_) return inflation_->buffer.release(from, to);
  if (mapping_ == nullptr) return;
  const size_t begin = std::max(from, released_to_.exchange(to)) / kPage * kPage;
  const size_t end = to / kPage * kPage;
  if (begin < end) ::madvise(static_cast<char*>(mapping_) + begin, end - begin, MADV_DONTNEED);
}

void Text::release_all() const {
  if (inflation_) inflation_->buffer.forget_unheld();
}

Text::Part Text::reach(uint64_t end) const {
  if (!inflation_) return {file_, true};
  // Nobody reads the text from begin to end, so inflating only keeps the points from which it can
  // be inflated again.
  std::call_once(inflation_->begun, [&] {
    inflation_->buffer.forget_unheld();
    inflation_->begin(file_);
  });
  return inflation_->buffer.at_least(end);
}

// Another file in its place leaves the mapped one as it was.
FileStamp Text::stamp_now() const {
  struct stat info {};
  const bool is_there = !path_.empty() && ::stat(path_.c_str(), &info) == 0;
  return is_there && info.st_ino == stamp_.inode ? FileStamp::of(info) : stamp_;
}

Text::Hold Text::hold(uint64_t offset, size_t bytes) const {
  if (is_cut()) return {};
  const size_t block = inflation_ ? inflation_->buffer.block_bytes() : 1;
  const uint64_t end = (offset + bytes + block - 1) / block * block;
  const Part part = reach(end);
  Hold hold;
  hold.text_ = part.text;
  hold.to_ = part.text.size();
  if (!inflation_) return hold;
  hold.from_ = std::min<uint64_t>(offset / block * block, part.text.size());
  hold.to_ = std::min<uint64_t>(end, part.text.size());
  hold.is_cut_ = !part.is_whole || hold.to_ < part.text.size();
  hold.owner_ = this;
  inflation_->buffer.hold(hold.from_, hold.to_);
  return hold;
}

Text::Hold::~Hold() {
  if (owner_ != nullptr) owner_->inflation_->buffer.let_go(from_, to_);
}

void Text::Hold::swap(Hold& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(text_, other.text_);
  std::swap(from_, other.from_);
  std::swap(to_, other.to_);
  std::swap(is_cut_, other.is_cut_);
}

std::string_view Text::keep(uint64_t offset, size_t bytes) const {
  if (is_cut()) return {};
  const std::string_view text = reach(offset + bytes).text;
  if (offset >= text.size()) return {};  // the file has changed since then
  if (!inflation_) return text.substr(offset);
  const uint64_t end = std::min<uint64_t>(offset + bytes, text.size());
  inflation_->buffer.keep(offset, end);
  return text.substr(offset, end - offset);
}

IssueLog Text::issues() const {
  static_cast<void>(size());
  return inflation_ ? inflation_->issues : IssueLog{};
}

size_t Text::file_bytes(size_t at) const {
  if (!inflation_) return at;
  // The inflater publishes text before it publishes how many of the file's bytes it took.
  const size_t done = std::max<size_t>(1, inflation_->file_bytes.load());
  const size_t inflated = std::max<size_t>(1, at_least(0).text.size());
  const double share = std::min(1.0, static_cast<double>(at) / static_cast<double>(inflated));
  return static_cast<size_t>(std::ceil(static_cast<double>(done) * share));
}

}  // namespace redline::trace
