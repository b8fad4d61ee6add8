#include "profiler/log/chunk_pool.h"

#include <sys/mman.h>

#include <new>

namespace redline::profiler {
namespace {

constexpr uint64_t kAddressBits = 33;  // 48-bit user addresses / 32 KiB
constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;
constexpr size_t kSlabChunks = 32;

Chunk* chunk_of(uint64_t top) {
  return reinterpret_cast<Chunk*>((top & kAddressMask) * kChunkBytes);
}

uint64_t next_top(uint64_t top, const Chunk* chunk) {
  const uint64_t count = (top >> kAddressBits) + 1;
  return count << kAddressBits | reinterpret_cast<uint64_t>(chunk) / kChunkBytes;
}

}  // namespace

void ChunkPool::push(Chunk* chunk) {
  uint64_t top = top_.load(std::memory_order_relaxed);
  do {
    chunk->next.store(chunk_of(top), std::memory_order_relaxed);
  } while (!top_.compare_exchange_weak(top, next_top(top, chunk), std::memory_order_acq_rel));
}

Chunk* ChunkPool::pop() {
  uint64_t top = top_.load(std::memory_order_acquire);
  while (Chunk* chunk = chunk_of(top)) {
    const Chunk* next = chunk->next.load(std::memory_order_relaxed);
    if (top_.compare_exchange_weak(top, next_top(top, next), std::memory_order_acq_rel)) {
      return chunk;
    }
  }
  return nullptr;
}

bool ChunkPool::add_slab() {
  // One more chunk than we use, because mmap aligns only to pages.
  constexpr size_t kBytes = (kSlabChunks + 1) * kChunkBytes;
  const std::lock_guard lock(slab_mutex_);
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  const uint64_t first = (reinterpret_cast<uint64_t>(memory) / kChunkBytes + 1) * kChunkBytes;
  for (size_t i = 0; i < kSlabChunks; ++i) {
    push(new (reinterpret_cast<void*>(first + i * kChunkBytes)) Chunk);
  }
  return true;
}

Chunk* ChunkPool::acquire() {
  if (in_use_.fetch_add(1, std::memory_order_relaxed) >= limit_.load(std::memory_order_relaxed)) {
    in_use_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  Chunk* chunk = pop();
  while (chunk == nullptr && add_slab()) chunk = pop();
  if (chunk == nullptr) {
    in_use_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  chunk->next.store(nullptr, std::memory_order_relaxed);
  chunk->size.store(0, std::memory_order_relaxed);
  return chunk;
}

void ChunkPool::release(Chunk* chunk) {
  push(chunk);
  in_use_.fetch_sub(1, std::memory_order_relaxed);
}

void ChunkPool::warm_up() {
  Chunk* taken[kSlabChunks];
  size_t count = 0;
  while (count < kSlabChunks && (taken[count] = acquire()) != nullptr) ++count;
  while (count > 0) {
    Chunk* chunk = taken[--count];
#ifdef MADV_POPULATE_WRITE
    madvise(chunk, kChunkBytes, MADV_POPULATE_WRITE);  // an older kernel refuses: pages come later
#endif
    release(chunk);
  }
}

void ChunkPool::trim() {
  Chunk* kept = nullptr;
  while (Chunk* chunk = pop()) {
    madvise(chunk, kChunkBytes, MADV_DONTNEED);
    chunk->next.store(kept, std::memory_order_relaxed);
    kept = chunk;
  }
  while (kept != nullptr) {
    Chunk* next = kept->next.load(std::memory_order_relaxed);
    push(kept);
    kept = next;
  }
}

}  // namespace redline::profiler
