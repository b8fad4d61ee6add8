#include "profiler/cupti/buffer_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "profiler/cupti/cupti_source.h"

namespace redline::cupti {
namespace {

TEST(BufferPool, TakesBackOnlyWhatItGaveAndThatOnce) {
  BufferPool pool;
  uint8_t* own = pool.take(true);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(pool.out(), 1u);
  uint8_t other[8] = {};
  pool.complete(other, sizeof(other));
  pool.complete(own, 16);
  pool.complete(own, 16);
  EXPECT_EQ(pool.out(), 0u);
  EXPECT_EQ(pool.foreign(), 2u);
  const auto filled = pool.take_filled();
  ASSERT_EQ(filled.size(), 1u);
  EXPECT_EQ(filled[0].buffer, own);
}

TEST(BufferPool, GivesWarmBuffersThenNewOnesThenNone) {
  BufferPool pool;
  EXPECT_EQ(pool.room(), BufferPool::kMostBuffers);
  pool.warm_up();
  pool.warm_up();
  EXPECT_EQ(pool.room(), BufferPool::kMostBuffers);
  std::vector<uint8_t*> taken;
  for (size_t i = 0; i < BufferPool::kMostBuffers; ++i) {
    taken.push_back(pool.take(true));
    ASSERT_NE(taken.back(), nullptr);
    EXPECT_EQ(taken.back()[BufferPool::kBufferBytes - 1], 0);
    EXPECT_EQ(pool.room(), BufferPool::kMostBuffers - i - 1);
    EXPECT_EQ(pool.out(), i + 1);
  }
  EXPECT_EQ(std::set<uint8_t*>(taken.begin(), taken.end()).size(), taken.size());
  EXPECT_EQ(pool.take(true), nullptr);
  EXPECT_EQ(pool.refused(), 1U);
  uint8_t* more = pool.take(false);
  EXPECT_NE(more, nullptr);
  EXPECT_EQ(pool.room(), 0U);
  EXPECT_EQ(pool.refused(), 1U);
  pool.warm_up();  // there are enough
  EXPECT_EQ(pool.take(true), nullptr);
  pool.complete(taken[3], 0);  // comes back empty
  EXPECT_FALSE(pool.has_filled());
  EXPECT_EQ(pool.take(true), taken[3]);
  pool.complete(taken[5], 100);
  pool.complete(taken[4], 200);
  EXPECT_TRUE(pool.has_filled());
  EXPECT_EQ(pool.out(), BufferPool::kMostBuffers - 1);
  const auto filled = pool.take_filled();
  ASSERT_EQ(filled.size(), 2U);
  EXPECT_EQ(filled[0].buffer, taken[5]);
  EXPECT_EQ(filled[0].valid_size, 100U);
  EXPECT_EQ(filled[1].buffer, taken[4]);
  EXPECT_FALSE(pool.has_filled());
  pool.give_back(taken[4]);
  EXPECT_EQ(pool.take(true), taken[4]);
  EXPECT_EQ(pool.foreign(), 0U);
}

// Each of these would wait for minutes if nobody woke it, and so be noticed.
TEST(BufferPool, WaitingEndsWhenBuffersGetScarceOrSomebodyWakes) {
  constexpr int kForEver = 600'000;
  BufferPool pool;
  pool.wake();
  pool.wait(kForEver);
  pool.wait(0);
  std::thread waker([&] { pool.wake(); });
  pool.wait(kForEver);
  waker.join();
  std::vector<uint8_t*> taken;
  for (size_t i = 0; i < BufferPool::kWarmBuffers / 2; ++i) taken.push_back(pool.take(true));
  std::thread filler([&] {
    for (uint8_t* buffer : taken) pool.complete(buffer, 8);
  });
  pool.wait(kForEver);
  filler.join();
  EXPECT_EQ(pool.take_filled().size(), BufferPool::kWarmBuffers / 2);
}

TEST(BufferPool, AChildThatWasForkedMeanwhileGetsBuffers) {
  BufferPool& pool = shared_state().pool;
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) pool.complete(pool.take(false), 0);
  });
  constexpr int kForks = 50;
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // if the mutex is locked, the next line waits for ever
      pool.complete(pool.take(false), 0);
      _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "fork " << i;
  }
  is_over = true;
  other.join();
}

}  // namespace
}  // namespace redline::cupti
