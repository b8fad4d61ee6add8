// Text that grows at a fixed address while other threads read its beginning.
//
// Address space for the largest possible text is reserved at once, so nothing ever moves. The first
// part is memory; what is beyond `memory_bytes` goes to a file that has no name any more, so that a
// text larger than the memory opens, too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace redline::trace {

class InflateBuffer {
 public:
  struct Part {
    std::string_view text;
    bool is_whole = false;
  };

  /// For a text of at most `largest` bytes; less where the system does not give that much address
  /// space. `memory_bytes` 0: half of the memory that is free now.
  explicit InflateBuffer(size_t largest, size_t memory_bytes = 0);
  InflateBuffer(const InflateBuffer&) = delete;
  InflateBuffer& operator=(const InflateBuffer&) = delete;
  ~InflateBuffer();

  /// The writer: room for `bytes` behind the text so far. Null where there is none; then error()
  /// says why.
  [[nodiscard]] char* room(size_t bytes);
  void commit(size_t bytes);
  void finish();
  [[nodiscard]] const std::string& error() const { return error_; }

  /// The reader: the text so far, once it has `bytes` or is whole.
  [[nodiscard]] Part at_least(size_t bytes) const;

 private:
  [[nodiscard]] bool extend(size_t bytes);
  [[nodiscard]] bool map_file(size_t bytes);

  char* data_ = nullptr;
  size_t reserved_ = 0;
  size_t usable_ = 0;        // bytes from data_ that may be written
  size_t memory_bytes_ = 0;  // bytes from data_ that are memory, not file
  int file_ = -1;
  std::string error_;

  mutable std::mutex mutex_;
  mutable std::condition_variable grown_;
  std::atomic<size_t> size_ = 0;
  std::atomic<bool> is_whole_ = false;
};

}  // namespace redline::trace
