// The memory in which records wait: chunks of equal size, taken and given back without a lock.
//
// Chunks are never unmapped: a thread that was preempted in the middle of a record may wake up
// after its window ended, and must still find its memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "profiler/log/record.h"

namespace redline::profiler {

inline constexpr size_t kChunkBytes = 32 * 1024;

/// One thread fills a chunk and the writer thread reads it. `size` hands the records over.
struct alignas(64) Chunk {
  static constexpr uint32_t kCapacity = (kChunkBytes - 64) / sizeof(Record);

  std::atomic<Chunk*> next = nullptr;  ///< in the list of its thread, or in that of free chunks
  std::atomic<uint32_t> size = 0;      ///< how many records may be read
  alignas(64) Record records[kCapacity];
};
static_assert(sizeof(Chunk) == kChunkBytes);

class ChunkPool {
 public:
  /// From now on at most `bytes` are in use at once.
  void set_limit(uint64_t bytes) { limit_ = bytes / kChunkBytes; }

  /// An empty chunk; nullptr if the limit is reached or the system has no memory.
  [[nodiscard]] Chunk* acquire();
  void release(Chunk* chunk);

  [[nodiscard]] bool is_quarter_used() const { return in_use_ * 4 >= limit_; }
  [[nodiscard]] bool is_three_quarters_used() const { return in_use_ * 4 >= limit_ * 3; }

  /// Maps the memory of the chunks that will be taken first, a megabyte, so that the recorded
  /// threads do not wait for the system to find pages.
  void warm_up();
  /// Gives the memory of free chunks back to the system; they stay usable.
  void trim();

 private:
  void push(Chunk* chunk);
  [[nodiscard]] Chunk* pop();
  [[nodiscard]] bool add_slab();

  /// Top of the free list: address / kChunkBytes in the low 33 bits, above it a count of changes,
  /// so that a chunk that was taken and returned in between is not mistaken for the old top.
  std::atomic<uint64_t> top_ = 0;
  std::atomic<uint64_t> in_use_ = 0;
  std::atomic<uint64_t> limit_ = 0;
  std::mutex slab_mutex_;
};

}  // namespace redline::profiler
