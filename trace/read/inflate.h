// Inflating gz and zst files into text that grows at a fixed address while other threads read its
// beginning, block by block.
//
// Address space for the largest possible text is reserved at once, so nothing ever moves. Once its
// readers have released a block, the block's memory is used for a later one: fresh memory costs
// more than inflating, so a block that is wanted again is inflated again. What exceeds the memory
// that the buffer may take goes to an unlinked file, so that a larger text opens, too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "trace/emit/gzip_stream.h"
#include "trace/model/issues.h"

namespace redline::trace {

class InflateBuffer {
 public:
  struct Limits {
    /// Of the largest text; less if the system does not give that much address space.
    size_t text_bytes = 0;
    size_t memory_bytes = 0;  ///< 0: half of the memory that is free now
    size_t file_bytes = 0;    ///< 0: half of what is free in the temporary folder
    size_t block_bytes = 0;   ///< a multiple of the page size
  };
  struct Part {
    std::string_view text;
    bool is_whole = false;
  };
  /// Fills `out` with the text of a block from its begin on.
  using InflateAgain = std::function<void(size_t block, std::span<char> out)>;

  explicit InflateBuffer(const Limits& limits);
  InflateBuffer(const InflateBuffer&) = delete;
  InflateBuffer& operator=(const InflateBuffer&) = delete;
  ~InflateBuffer();

  // The writer.

  /// From now on the memory of blocks that nobody reads may be reused, because `again` brings them
  /// back. Call it before anything else.
  void may_forget(InflateAgain again) { again_ = std::move(again); }
  /// Room behind the text so far: at most `bytes`, and not beyond the block's end. Waits while
  /// readers that release blocks still have much to read. Empty if memory, the temporary folder or
  /// the address space is full, and after stop().
  [[nodiscard]] std::span<char> room(size_t bytes);
  void commit(size_t bytes);
  void finish();
  [[nodiscard]] bool is_block_begin() const { return size_ % block_bytes_ == 0; }

  // Readers.

  /// Waits until the text has `bytes` or is whole, and returns it. Parts that may have been
  /// forgotten must be held before they are read.
  [[nodiscard]] Part at_least(size_t bytes);
  /// Says that nobody reads [from, to) for now, so it may be forgotten. `to` grows from call to
  /// call.
  void release(size_t from, size_t to);
  /// From now on everything that is not held may be forgotten.
  void forget_unheld();
  /// [from, to), which must have been written, stays readable until let_go() was called as often as
  /// hold().
  void hold(size_t from, size_t to);
  void let_go(size_t from, size_t to);
  /// Like hold(), but for good.
  void keep(size_t from, size_t to);
  /// From now on room() is empty.
  void stop();
  [[nodiscard]] bool is_stopped() const { return stopped_; }

  [[nodiscard]] size_t block_bytes() const { return block_bytes_; }

 private:
  enum class State : uint8_t {
    kAbsent,
    kWritten,
    kSpare,   ///< nobody reads it, so another block may take its memory
    kComing,  ///< a thread inflates it again
    kInFile,
  };
  struct Block {
    State state = State::kAbsent;
    bool is_released = false;
    bool is_kept = false;
    uint32_t holds = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] State take_memory(size_t block);
  [[nodiscard]] bool take_spare(size_t block);
  [[nodiscard]] State map_file(size_t block);
  void hold_block(size_t block, Lock& lock);
  void inflate_again(size_t block, Lock& lock);
  void spare_if_unused(size_t block);
  void trim_spare();
  [[nodiscard]] char* address(size_t block) const { return data_ + block * block_bytes_; }

  char* data_ = nullptr;
  void* reserved_ = nullptr;
  size_t reserved_bytes_ = 0;
  const size_t block_bytes_;
  size_t most_blocks_ = 0;
  InflateAgain again_;

  std::mutex mutex_;  // for all below
  std::condition_variable changed_;
  std::vector<Block> blocks_;
  std::vector<size_t> spare_;  // oldest first
  size_t most_spare_;
  int64_t memory_left_;     // bytes that may be taken afresh; below 0 where more is held
  size_t busy_blocks_ = 0;  // in memory and not spare
  size_t released_to_ = 0;  // block
  size_t wanted_ = 0;       // bytes of text that a reader waits for
  int file_ = -1;
  size_t file_bytes_ = 0;
  size_t file_left_;
  bool forgets_unheld_ = false;
  std::atomic<bool> stopped_ = false;
  std::atomic<size_t> size_ = 0;
  std::atomic<bool> is_whole_ = false;
};

[[nodiscard]] bool is_zstd(std::string_view file);

/// Inflates all members of a gz file. Where the file is cut or damaged the text ends, and an issue
/// says so. `out` may forget its text, and inflates it again from `file`. `file_bytes` tells other
/// threads how many of the file's bytes are done.
void inflate_gzip(std::string_view file, InflateBuffer& out, std::atomic<size_t>& file_bytes,
                  IssueLog& issues);

/// The same for all frames of a zst file, which cannot be begun in its middle: `out` keeps it all.
void inflate_zstd(std::string_view file, InflateBuffer& out, std::atomic<size_t>& file_bytes,
                  IssueLog& issues);

}  // namespace redline::trace
