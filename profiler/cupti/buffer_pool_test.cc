#include "profiler/cupti/buffer_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "profiler/cupti/cupti_source.h"

namespace {

/// Called for each array that somebody asks for who can do without: false if there is no memory.
std::function<bool()>& has_memory() {
  static std::function<bool()> answer;
  return answer;
}

}  // namespace

void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  if (has_memory() && !has_memory()()) return nullptr;
  try {
    return ::operator new[](size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

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
  pool.warm_up();  // there are no more
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
  pool.complete(taken[5], 1);
  pool.complete(taken[4], 200);
  EXPECT_TRUE(pool.has_filled());
  EXPECT_EQ(pool.out(), BufferPool::kMostBuffers - 1);
  const auto filled = pool.take_filled();
  ASSERT_EQ(filled.size(), 2U);
  EXPECT_EQ(filled[0].buffer, taken[5]);
  EXPECT_EQ(filled[0].valid_size, 1U);
  EXPECT_EQ(filled[1].buffer, taken[4]);
  EXPECT_FALSE(pool.has_filled());
  pool.give_back(taken[4]);
  EXPECT_EQ(pool.take(true), taken[4]);
  EXPECT_EQ(pool.foreign(), 0U);
}

TEST(BufferPool, WithoutMemoryItGivesWhatIsWarmAndCountsTheRest) {
  BufferPool pool;
  pool.warm_up();
  has_memory() = [] { return false; };
  size_t given = 0;
  while (pool.take(false) != nullptr) ++given;
  pool.warm_up();
  has_memory() = nullptr;
  EXPECT_EQ(given, BufferPool::kWarmBuffers);
  EXPECT_EQ(pool.refused(), 1U);
  EXPECT_EQ(pool.out(), BufferPool::kWarmBuffers);
  EXPECT_NE(pool.take(true), nullptr);
}

TEST(BufferPool, ABufferThatIsBeingMadeCountsAsOne) {
  BufferPool pool;
  for (size_t i = 0; i + 1 < BufferPool::kMostBuffers; ++i) ASSERT_NE(pool.take(true), nullptr);
  uint8_t* meanwhile = nullptr;
  has_memory() = [&] {
    has_memory() = nullptr;
    meanwhile = pool.take(true);
    return true;
  };
  EXPECT_NE(pool.take(true), nullptr);
  EXPECT_EQ(meanwhile, nullptr);
  EXPECT_EQ(pool.refused(), 1U);
}

// Some of these would wait for minutes if nobody woke them, and so be noticed.
TEST(BufferPool, WaitingEndsWhenBuffersGetScarceOrSomebodyWakes) {
  constexpr int kForEver = 600'000;
  BufferPool pool;
  pool.wake();
  EXPECT_TRUE(pool.wait(kForEver));
  EXPECT_FALSE(pool.wait(0));
  std::thread waker([&] { pool.wake(); });
  EXPECT_TRUE(pool.wait(kForEver));
  waker.join();
  std::vector<uint8_t*> taken;
  for (size_t i = 0; i < BufferPool::kWarmBuffers / 2; ++i) taken.push_back(pool.take(true));
  uint8_t* last = taken.back();
  taken.pop_back();
  for (uint8_t* buffer : taken) pool.complete(buffer, 8);
  EXPECT_FALSE(pool.wait(0));
  std::thread filler([&] { pool.complete(last, 8); });
  EXPECT_TRUE(pool.wait(kForEver));
  filler.join();
  EXPECT_TRUE(pool.wait(0)) << "nobody took them";
  EXPECT_EQ(pool.take_filled().size(), BufferPool::kWarmBuffers / 2);
  EXPECT_FALSE(pool.wait(0));
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
      alarm(200);  // if the mutex is locked, the next line waits for ever
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
