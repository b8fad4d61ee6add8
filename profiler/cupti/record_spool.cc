#include "profiler/cupti/record_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace redline::cupti {

RecordSpool::~RecordSpool() {
  clear();  // a forked process may keep the file open, and with it the disk space
  close(file_);
}

void RecordSpool::open() {
  if (file_ >= 0) return;
  std::string path = folder_ + "/.redline.XXXXXX";
  file_ = mkostemp(path.data(), O_CLOEXEC);
  if (file_ >= 0) unlink(path.c_str());
}

std::optional<RecordSpool::Extent> RecordSpool::write(std::span<const uint8_t> bytes) {
  if (end_ + bytes.size() > kMostBytes) return std::nullopt;
  open();
  // A file takes less only where the disk or a limit ends.
  const ssize_t count = pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(end_));
  if (static_cast<size_t>(count) != bytes.size()) {
    shorten();  // leaves the rest of the disk to the job
    return std::nullopt;
  }
  const Extent extent{end_, bytes.size()};
  end_ += bytes.size();
  return extent;
}

bool RecordSpool::read(const Extent& extent, std::vector<uint8_t>& bytes) const {
  bytes.resize(extent.size);
  const ssize_t count = pread(file_, bytes.data(), extent.size, static_cast<off_t>(extent.offset));
  return static_cast<size_t>(count) == extent.size;
}

void RecordSpool::clear() {
  end_ = 0;
  shorten();
}

void RecordSpool::shorten() {
  // If it fails, the next write overwrites the bytes beyond end_.
  static_cast<void>(ftruncate(file_, static_cast<off_t>(end_)));
}

}  // namespace redline::cupti
