// The hand-over between training threads and the writer thread: no record may be doubled or out of
// order, and lost ones must be counted. TSan also checks that there is no data race.
#include "profiler/log/thread_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

namespace redline::profiler {
namespace {

constexpr int kThreads = 8;
#ifdef __SANITIZE_THREAD__
constexpr int64_t kRecordsEach = 100'000;
#else
constexpr int64_t kRecordsEach = 1'000'000;
#endif
constexpr int64_t kBurst = 10'000;

/// What the reader has read from one thread. The numbers must grow, and each gap must be a drop.
struct Seen {
  int64_t next = 0;
  int64_t gaps = 0;
  int64_t count = 0;
  bool in_order = true;

  void add(int64_t number) {
    in_order = in_order && number >= next;
    gaps += number - next;
    next = number + 1;
    ++count;
  }
};

class Hammer {
 public:
  explicit Hammer(uint64_t memory) { pool_.set_limit(memory); }

  /// Threads write in bursts. After some bursts they wait until the reader has read.
  void run() {
    std::vector<std::jthread> threads;
    for (int64_t id = 0; id < kThreads; ++id) {
      threads.emplace_back([this, id] { write(id); });
    }
    while (running_ > 0) read();
    threads.clear();
    read();
  }

  std::map<int64_t, Seen> seen;
  uint64_t dropped = 0;

 private:
  void write(int64_t id) {
    ThreadLog* log = registry_.enter();
    for (int64_t number = 0; number < kRecordsEach; ++number) {
      log->push({.begin_ns = id, .of = OperatorFields{.sequence_number = number}});
      if (number % kBurst == 0 && (number / kBurst + id) % 3 != 0) rounds_.wait(rounds_);
    }
    ThreadRegistry::leave(log);
    --running_;
  }

  void read() {
    registry_.list(logs_);
    for (ThreadLog* log : logs_) {
      const bool finished = ThreadRegistry::is_finished(*log);
      log->drain([this](const Record& record) {
        seen[record.begin_ns].add(record.of.op.sequence_number);
      });
      dropped += log->take_dropped();
      if (finished) registry_.recycle(log);
    }
    ++rounds_;
    rounds_.notify_all();
  }

  ChunkPool pool_;
  ThreadRegistry registry_{pool_};
  std::vector<ThreadLog*> logs_;
  std::atomic<int> running_ = kThreads;
  std::atomic<int> rounds_ = 0;
};

TEST(ThreadLog, LosesNothingWithEnoughMemory) {
  Hammer hammer(uint64_t{256} << 20);
  hammer.run();
  ASSERT_EQ(hammer.seen.size(), kThreads);
  for (const auto& [id, seen] : hammer.seen) {
    EXPECT_TRUE(seen.in_order);
    EXPECT_EQ(seen.count, kRecordsEach);
    EXPECT_EQ(seen.gaps, 0);
  }
  EXPECT_EQ(hammer.dropped, 0u);
}

TEST(ThreadLog, CountsWhatFindsNoMemory) {
  Hammer hammer(10 * kChunkBytes);
  hammer.run();
  uint64_t count = 0, gaps = 0;
  for (const auto& [id, seen] : hammer.seen) {
    EXPECT_TRUE(seen.in_order);
    count += static_cast<uint64_t>(seen.count);
    gaps += static_cast<uint64_t>(seen.gaps);
  }
  EXPECT_EQ(count + hammer.dropped, static_cast<uint64_t>(kThreads * kRecordsEach));
  EXPECT_LE(gaps, hammer.dropped);
  EXPECT_GT(hammer.dropped, 0u);
}

TEST(ThreadLog, ServesTheNextThreadOnceDrained) {
  ChunkPool pool;
  pool.set_limit(kChunkBytes * 4);
  ThreadRegistry registry(pool);
  std::vector<ThreadLog*> logs;
  ThreadLog* first = nullptr;
  for (int64_t round = 0; round < 100; ++round) {
    std::jthread([&] {
      ThreadLog* log = registry.enter();
      if (first == nullptr) first = log;
      EXPECT_EQ(log, first);
      EXPECT_EQ(log->tid(), gettid());
      log->push({.begin_ns = round});
      ThreadRegistry::leave(log);
    }).join();
    registry.list(logs);
    ASSERT_EQ(logs.size(), 1u);
    int64_t got = -1;
    logs[0]->drain([&](const Record& record) { got = record.begin_ns; });
    EXPECT_EQ(got, round);
    registry.recycle(logs[0]);
  }
  EXPECT_EQ(first->take_dropped(), 0u);
}

TEST(ChunkPool, KeepsItsLimitAndSurvivesTrimming) {
  ChunkPool pool;
  pool.set_limit(3 * kChunkBytes);
  for (int round = 0; round < 3; ++round) {
    std::vector<Chunk*> chunks;
    for (int i = 0; i < 3; ++i) chunks.push_back(pool.acquire());
    for (Chunk* chunk : chunks) ASSERT_NE(chunk, nullptr);
    EXPECT_EQ(pool.acquire(), nullptr);
    for (Chunk* chunk : chunks) {
      chunk->records[0].begin_ns = 1;
      pool.release(chunk);
    }
    pool.trim();
  }
}

}  // namespace
}  // namespace redline::profiler
