#include "profiler/log/chunk_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <vector>

namespace redline::profiler {
namespace {

bool is_mapped(const Chunk& chunk) {
  const auto page_size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> in_memory(kChunkBytes / page_size);
  if (mincore(const_cast<Chunk*>(&chunk), kChunkBytes, in_memory.data()) != 0) return false;
  return std::ranges::all_of(in_memory, [](unsigned char page) { return (page & 1) != 0; });
}

bool can_map_ahead() {
#ifdef MADV_POPULATE_WRITE
  void* page = mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool can = madvise(page, 1, MADV_POPULATE_WRITE) == 0;
  munmap(page, 1);
  return can;
#else
  return false;
#endif
}

std::vector<Chunk*> take(ChunkPool& pool, size_t count) {
  std::vector<Chunk*> chunks;
  while (chunks.size() < count) chunks.push_back(pool.acquire());
  return chunks;
}

TEST(ChunkPool, AfterTheWarmUpTheFirstMegabyteIsMapped) {
  if (!can_map_ahead()) GTEST_SKIP() << "this kernel cannot map ahead";
  ChunkPool pool;
  pool.set_limit(8 << 20);
  for (int window = 0; window < 2; ++window) {
    pool.warm_up();
    const auto chunks = take(pool, 32);
    for (const Chunk* chunk : chunks) EXPECT_TRUE(is_mapped(*chunk));
    for (Chunk* chunk : chunks) pool.release(chunk);
    pool.trim();
    const auto trimmed = take(pool, 32);
    for (const Chunk* chunk : trimmed) EXPECT_FALSE(is_mapped(*chunk));
    for (Chunk* chunk : trimmed) pool.release(chunk);
  }
}

TEST(ChunkPool, TheWarmUpKeepsNoChunkAndTheLimit) {
  ChunkPool pool;
  pool.set_limit(3 * kChunkBytes);
  pool.warm_up();
  const auto chunks = take(pool, 3);
  EXPECT_EQ(std::set<const Chunk*>(chunks.begin(), chunks.end()).size(), 3);
  EXPECT_FALSE(std::ranges::count(chunks, nullptr));
  EXPECT_EQ(pool.acquire(), nullptr);
}

}  // namespace
}  // namespace redline::profiler
