#include "profiler/cupti/record_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace redline::cupti {

RecordSpool::~RecordSpool() {
  if (file_ < 0) return;
  clear();  // a forked process may keep the file open, and with it the disk space
  close(file_);
}

bool RecordSpool::open() {
  if (file_ >= 0) return true;
  file_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ >= 0) return true;
  // Not every file system has files without names.
  std::string path = folder_ + "/.redline.XXXXXX";
  file_ = mkostemp(path.data(), O_CLOEXEC);
  if (file_ >= 0) unlink(path.c_str());
  return file_ >= 0;
}

std::optional<RecordSpool::Extent> RecordSpool::write(std::span<const uint8_t> bytes) {
  if (end_ + bytes.size() > kMostBytes || !open()) return std::nullopt;
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        pwrite(file_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(end_ + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      shorten();  // leaves the rest of the disk to the job
      return std::nullopt;
    }
    done += static_cast<size_t>(count);
  }
  const Extent extent{end_, bytes.size()};
  end_ += bytes.size();
  return extent;
}

bool RecordSpool::read(const Extent& extent, std::vector<uint8_t>& bytes) const {
  bytes.resize(extent.size);
  size_t done = 0;
  while (done < extent.size) {
    const ssize_t count = pread(file_, bytes.data() + done, extent.size - done,
                                static_cast<off_t>(extent.offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

void RecordSpool::clear() {
  if (end_ == 0) return;
  end_ = 0;
  shorten();
}

void RecordSpool::shorten() {
  // If it fails, the next write overwrites the bytes beyond end_.
  static_cast<void>(ftruncate(file_, static_cast<off_t>(end_)));
}

}  // namespace redline::cupti
