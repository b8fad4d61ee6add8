#include "profiler/write/window.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "base/clock.h"

namespace redline::profiler {
namespace {

void record(ThreadLog& log, int count) {
  for (int i = 0; i < count; ++i) {
    log.push(
        {.begin_ns = monotonic_ns(), .of = MemoryFields{.bytes = 1}, .kind = RecordKind::kMemory});
  }
}

TEST(Window, LosesNothingIfItBeginsWhileTheWriterThreadReads) {
  constexpr int kChunks = 1500;
  const std::string spool = ::testing::TempDir() + "window_test." + std::to_string(getpid());
  ChunkPool pool;
  pool.set_limit(4000 * kChunkBytes);
  ThreadRegistry threads(pool);
  TextTable texts;
  texts.reset(1 << 20);
  ThreadLog* log = threads.enter();
  record(*log, kChunks * static_cast<int>(Chunk::kCapacity));  // of the time before the window
  ASSERT_TRUE(pool.is_quarter_used());
  Window window(threads, pool, texts);
  ASSERT_TRUE(window.begin_warmup());
  while (pool.is_quarter_used()) std::this_thread::yield();  // until it has read a third
  window.begin({.spool_path = spool, .begin_ns = monotonic_ns(), .header = {}});
  record(*log, 1);
  window.end(monotonic_ns(), {});
  window.wait();
  EXPECT_EQ(window.counts().recorded, 1);
  window.discard();
  ThreadRegistry::leave(log);
  std::filesystem::remove(spool);
}

}  // namespace
}  // namespace redline::profiler
