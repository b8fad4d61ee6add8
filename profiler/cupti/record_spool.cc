#include "profiler/cupti/record_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace redline::cupti {

RecordSpool::~RecordSpool() {
  clear();  // a forked process may keep the file open, and with it the disk space
}

bool RecordSpool::open() {
  if (file_.was_opened()) return true;
  int file = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) {  // not every file system has files without names
    std::string path = folder_ + "/.redline.XXXXXX";
    file = mkostemp(path.data(), O_CLOEXEC);
    if (file >= 0) unlink(path.c_str());
  }
  file_ = GuardedDescriptor(file);
  return file_.was_opened();
}

std::optional<RecordSpool::Extent> RecordSpool::write(std::span<const uint8_t> bytes) {
  if (end_ + bytes.size() > kMostBytes || !open()) return std::nullopt;
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = pwrite(file_.get(), bytes.data() + done, bytes.size() - done,
                                 static_cast<off_t>(end_ + done));
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
    const ssize_t count = pread(file_.get(), bytes.data() + done, extent.size - done,
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
  static_cast<void>(ftruncate(file_.get(), static_cast<off_t>(end_)));
}

}  // namespace redline::cupti
