#include "trace/read/inflate.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "machine/resources.h"

namespace redline::trace {
namespace {

// The writer may be ahead, by this many blocks, of readers that release what they have read.
constexpr size_t kBlocksAhead = 8;

int64_t free_memory_bytes() {
  return machine::memory().usable_now_bytes().value_or(int64_t{1} << 30);
}

size_t free_disk_bytes(int file) {
  struct statvfs info {};
  return ::fstatvfs(file, &info) == 0 ? info.f_bavail * info.f_frsize : 0;
}

// Opens a temporary file that disappears when its descriptor is closed; -1 if that is not possible.
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

InflateBuffer::InflateBuffer(const Limits& limits)
    : block_bytes_(limits.block_bytes),
      most_spare_(kBlocksAhead),
      memory_left_(limits.memory_bytes > 0 ? static_cast<int64_t>(limits.memory_bytes)
                                           : free_memory_bytes() / 2),
      file_left_(limits.file_bytes) {
  for (size_t blocks = limits.text_bytes / block_bytes_ + 1; blocks > 0; blocks /= 2) {
    const size_t bytes = (blocks + 1) * block_bytes_;  // one more, to begin at a huge page
    void* const region =
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) continue;
    reserved_ = region;
    reserved_bytes_ = bytes;
    most_blocks_ = blocks;
    const size_t beyond = reinterpret_cast<uintptr_t>(region) % block_bytes_;
    data_ = static_cast<char*>(region) + (beyond > 0 ? block_bytes_ - beyond : 0);
    return;
  }
}

InflateBuffer::~InflateBuffer() {
  if (reserved_ != nullptr) ::munmap(reserved_, reserved_bytes_);
  if (file_ >= 0) ::close(file_);
}

std::span<char> InflateBuffer::room(size_t bytes) {
  const size_t size = size_.load(std::memory_order_relaxed);
  const size_t block = size / block_bytes_;
  Lock lock(mutex_);
  if (stopped_) return {};
  if (block == blocks_.size()) {
    changed_.wait(
        lock, [&] { return stopped_ || !again_ || busy_blocks_ < kBlocksAhead || wanted_ > size; });
    const State state = stopped_ ? State::kAbsent : take_memory(block);
    if (state == State::kAbsent) return {};
    blocks_.push_back({.state = state});
  }
  return {data_ + size, std::min(bytes, (block + 1) * block_bytes_ - size)};
}

void InflateBuffer::commit(size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    size_ += bytes;
    if (is_block_begin() && bytes > 0) spare_if_unused(blocks_.size() - 1);
  }
  changed_.notify_all();
}

void InflateBuffer::finish() {
  {
    const std::lock_guard lock(mutex_);
    is_whole_ = true;
    if (!blocks_.empty()) spare_if_unused(blocks_.size() - 1);
  }
  changed_.notify_all();
}

void InflateBuffer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

InflateBuffer::Part InflateBuffer::at_least(size_t bytes) {
  if (size_ < bytes && !is_whole_) {
    Lock lock(mutex_);
    wanted_ = std::max(wanted_, bytes);
    changed_.notify_all();
    changed_.wait(lock, [&] { return size_ >= bytes || is_whole_; });
  }
  const bool is_whole = is_whole_;  // read before the size, which is then final
  return {{data_, size_}, is_whole};
}

// Gets memory at the address of a block that has never had any; returns the block's new state.
InflateBuffer::State InflateBuffer::take_memory(size_t block) {
  if (block >= most_blocks_) return State::kAbsent;
  if (!take_spare(block)) {
    if (memory_left_ < static_cast<int64_t>(block_bytes_)) return map_file(block);
    if (::mprotect(address(block), block_bytes_, PROT_READ | PROT_WRITE) != 0) {
      return State::kAbsent;
    }
    ::madvise(address(block), block_bytes_, MADV_HUGEPAGE);
    memory_left_ -= static_cast<int64_t>(block_bytes_);
  }
  ++busy_blocks_;
  return State::kWritten;
}

// Moves the pages of a spare block without zeroing them. The spare block's addresses stay readable,
// as zeros.
bool InflateBuffer::take_spare(size_t block) {
  if (spare_.empty()) return false;
  const size_t spare = spare_.front();
  spare_.erase(spare_.begin());
  blocks_[spare].state = State::kAbsent;
  const void* const moved =
      ::mremap(address(spare), block_bytes_, block_bytes_,
               MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, address(block));
  if (moved != MAP_FAILED) return true;
  ::madvise(address(spare), block_bytes_, MADV_DONTNEED);  // for kernels that cannot move pages
  memory_left_ += static_cast<int64_t>(block_bytes_);
  return false;
}

InflateBuffer::State InflateBuffer::map_file(size_t block) {
  if (file_ < 0) {
    file_ = open_unnamed_file();
    if (file_ < 0) return State::kAbsent;
    // The other half is left to those who work beside us.
    if (file_left_ == 0) file_left_ = free_disk_bytes(file_) / 2;
  }
  if (file_left_ < block_bytes_) return State::kAbsent;
  const auto begin = static_cast<off_t>(file_bytes_);
  // Allocated now, because a full disk would otherwise be a SIGBUS later.
  if (::posix_fallocate(file_, begin, static_cast<off_t>(block_bytes_)) != 0) return State::kAbsent;
  void* const mapped = ::mmap(address(block), block_bytes_, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED, file_, begin);
  if (mapped == MAP_FAILED) return State::kAbsent;
  file_bytes_ += block_bytes_;
  file_left_ -= block_bytes_;
  return State::kInFile;
}

void InflateBuffer::release(size_t from, size_t to) {
  if (!again_) return;
  {
    const std::lock_guard lock(mutex_);
    const size_t end = std::min(to / block_bytes_, blocks_.size());
    size_t block = std::max(released_to_, (from + block_bytes_ - 1) / block_bytes_);
    for (; block < end; ++block) {
      blocks_[block].is_released = true;
      spare_if_unused(block);
    }
    released_to_ = block;
  }
  changed_.notify_all();
}

void InflateBuffer::forget_unheld() {
  {
    const std::lock_guard lock(mutex_);
    forgets_unheld_ = true;
    for (size_t block = 0; block < blocks_.size(); ++block) spare_if_unused(block);
    most_spare_ = 1;
    trim_spare();
  }
  changed_.notify_all();
}

void InflateBuffer::spare_if_unused(size_t block) {
  Block& known = blocks_[block];
  const bool is_complete = is_whole_ || (block + 1) * block_bytes_ <= size_;
  if (!again_ || known.state != State::kWritten || !is_complete || known.holds > 0) return;
  if (!known.is_released && !forgets_unheld_) return;
  known.state = State::kSpare;
  spare_.push_back(block);
  --busy_blocks_;
  trim_spare();
}

void InflateBuffer::trim_spare() {
  while (spare_.size() > most_spare_) {
    ::madvise(address(spare_.front()), block_bytes_, MADV_DONTNEED);
    blocks_[spare_.front()].state = State::kAbsent;
    spare_.erase(spare_.begin());
    memory_left_ += static_cast<int64_t>(block_bytes_);
  }
}

void InflateBuffer::hold(size_t from, size_t to) {
  Lock lock(mutex_);
  for (size_t block = from / block_bytes_; block * block_bytes_ < to; ++block) {
    hold_block(block, lock);
  }
}

void InflateBuffer::keep(size_t from, size_t to) {
  Lock lock(mutex_);
  for (size_t block = from / block_bytes_; block * block_bytes_ < to; ++block) {
    if (blocks_[block].is_kept) continue;
    blocks_[block].is_kept = true;
    hold_block(block, lock);
  }
}

void InflateBuffer::let_go(size_t from, size_t to) {
  {
    const std::lock_guard lock(mutex_);
    for (size_t block = from / block_bytes_; block * block_bytes_ < to; ++block) {
      --blocks_[block].holds;
      spare_if_unused(block);
    }
  }
  changed_.notify_all();
}

void InflateBuffer::hold_block(size_t block, Lock& lock) {
  ++blocks_[block].holds;
  changed_.wait(lock, [&] { return blocks_[block].state != State::kComing; });
  if (blocks_[block].state == State::kSpare) {
    std::erase(spare_, block);
    blocks_[block].state = State::kWritten;
    ++busy_blocks_;
  } else if (blocks_[block].state == State::kAbsent) {
    inflate_again(block, lock);
  }
}

// Inflates the block again, also where that takes more memory than the limit: a reader cannot tell
// text that is missing from text of zeros, and few blocks are held at a time. The block's addresses
// have stayed readable and writable.
void InflateBuffer::inflate_again(size_t block, Lock& lock) {
  if (!take_spare(block)) memory_left_ -= static_cast<int64_t>(block_bytes_);
  ++busy_blocks_;
  const size_t bytes = std::min(block_bytes_, size_ - block * block_bytes_);
  blocks_[block].state = State::kComing;
  lock.unlock();
  again_(block, {address(block), bytes});
  lock.lock();
  blocks_[block].state = State::kWritten;
  changed_.notify_all();
}

}  // namespace redline::trace
