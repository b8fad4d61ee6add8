#include "profiler/write/window.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/clock.h"
#include "tests/temporary_folder.h"

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
  const testing::TemporaryFolder folder;
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
  window.begin({.spool_path = folder / "spool", .begin_ns = monotonic_ns(), .header = {}});
  record(*log, 1);
  window.end(monotonic_ns(), {});
  window.wait();
  EXPECT_EQ(window.counts().recorded, 1);
  window.discard();
  ThreadRegistry::leave(log);
}

class SmallWindow : public ::testing::Test {
 protected:
  SmallWindow() {
    pool_.set_limit(100 * kChunkBytes);
    texts_.reset(1 << 20);
    log_ = threads_.enter();
    EXPECT_TRUE(window_.begin_warmup());
  }
  ~SmallWindow() override {
    window_.discard();
    ThreadRegistry::leave(log_);
  }
  void begin(const std::string& spool) {
    window_.begin({.spool_path = spool, .begin_ns = monotonic_ns(), .header = {}});
  }
  void end() {
    window_.end(monotonic_ns(), {});
    window_.wait();
  }

  const testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / "trace.json";
  ChunkPool pool_;
  ThreadRegistry threads_{pool_};
  TextTable texts_;
  Window window_{threads_, pool_, texts_};
  ThreadLog* log_ = nullptr;
};

TEST_F(SmallWindow, HasARowForEachThreadAndCountsItsEvents) {
  record(*log_, 1);  // of the time before
  begin(path_ + ".spool");
  record(*log_, 3);
  pid_t other = 0;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "helper");
    other = gettid();
    ThreadLog* log = threads_.enter();
    record(*log, 2);
    ThreadRegistry::leave(log);
  }).join();
  end();
  EXPECT_EQ(window_.counts().recorded, 5);
  EXPECT_EQ(window_.counts().dropped, 0);
  EXPECT_EQ(window_.counts().threads, 2);
  EXPECT_GT(window_.counts().bytes, 100);
  ASSERT_TRUE(window_.save(path_));
  std::ifstream file(path_);
  const auto trace = nlohmann::json::parse(file);
  std::map<int, std::string> names;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
  }
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names[other], "thread " + std::to_string(other) + " (helper)");
  EXPECT_EQ(trace["redline"]["events"], 5);
  EXPECT_EQ(trace["redline"]["threads"], 2);
  EXPECT_EQ(trace["redline"]["dropped"], 0);
}

TEST_F(SmallWindow, SlicesThatAreOpenAtItsEndAreWrittenUpToIt) {
  begin(path_ + ".spool");
  const int64_t end_ns = monotonic_ns() + 1'000;
  for (const int64_t begin_ns : {end_ns - 10, end_ns, end_ns + 1}) {
    ASSERT_TRUE(log_->open_slices().begin({.begin_ns = begin_ns, .kind = RecordKind::kAnnotation}));
  }
  window_.end(end_ns, {});
  window_.wait();
  EXPECT_EQ(window_.counts().recorded, 2);
  EXPECT_EQ(window_.counts().threads, 1);
}

TEST_F(SmallWindow, OfAFullDiskAllIsCountedAsLost) {
  begin("/dev/full");
  record(*log_, 3);
  end();
  EXPECT_EQ(window_.counts().recorded, 0);
  EXPECT_EQ(window_.counts().dropped, 3);
  const auto saved = window_.save(path_);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error(), "cannot write /dev/full: No space left on device");
  EXPECT_EQ(window_.complete().error(), saved.error());
}

TEST_F(SmallWindow, WithoutEventsThereIsNoTraceToSave) {
  EXPECT_EQ(window_.counts().recorded, 0);
  window_.discard();
  EXPECT_EQ(window_.save(path_).error(), "the window has no trace");
}

}  // namespace
}  // namespace redline::profiler
