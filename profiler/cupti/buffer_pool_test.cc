#include "profiler/cupti/buffer_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

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
