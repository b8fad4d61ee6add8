#include "trace/read/inflate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <semaphore>
#include <thread>

#include "base/file.h"
#include "tests/temporary_folder.h"
#include "tests/variables.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const size_t kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));

/// A thread that tells others whether it waits.
class Worker {
 public:
  explicit Worker(std::function<void()> work)
      : thread_([this, work = std::move(work)] {
          id_ = ::gettid();
          id_.notify_all();
          work();
          has_ended_ = true;
        }) {}

  /// Until it waits for something or has ended.
  void await_rest() const {
    id_.wait(0);
    const std::string state = "/proc/self/task/" + std::to_string(id_) + "/stat";
    while (!has_ended_ && read_file(state).find(") S ") == std::string::npos) {
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<pid_t> id_ = 0;
  std::atomic<bool> has_ended_ = false;
  std::jthread thread_;
};

// Each block consists of its own letter.
class InflateBufferTest : public ::testing::Test {
 protected:
  static char letter(size_t block) { return static_cast<char>('a' + block % 26); }

  static InflateBuffer::Limits limits(size_t memory_blocks, size_t file_bytes = 0) {
    return {.text_bytes = 100 * kPage,
            .memory_bytes = memory_blocks * kPage,
            .file_bytes = file_bytes,
            .block_bytes = kPage};
  }

  void forget_in(InflateBuffer& buffer) {
    buffer.may_forget([this](size_t block, std::span<char> out) {
      again_.push_back(block);
      again_bytes_ = out.size();
      std::ranges::fill(out, letter(block));
    });
  }

  static bool write(InflateBuffer& buffer, size_t block, size_t bytes) {
    const std::span<char> room = buffer.room(bytes);
    if (room.empty()) return false;
    std::ranges::fill(room, letter(block));
    buffer.commit(room.size());
    return true;
  }

  static bool write_block(InflateBuffer& buffer, size_t block) {
    const size_t before = buffer.at_least(0).text.size();
    const bool is_written = write(buffer, block, 2 * kPage);
    EXPECT_EQ(buffer.at_least(0).text.size() - before, is_written ? kPage : 0);
    return is_written;
  }

  static void write_blocks(InflateBuffer& buffer, size_t from, size_t to) {
    for (size_t block = from; block < to; ++block) ASSERT_TRUE(write_block(buffer, block));
  }

  static std::string expected(size_t blocks) {
    std::string text;
    for (size_t block = 0; block < blocks; ++block) text.append(kPage, letter(block));
    return text;
  }

  /// One letter for each block; '.' for one that is forgotten, '?' for one that is wrong.
  static std::string seen_in(InflateBuffer& buffer) {
    const std::string_view text = buffer.at_least(0).text;
    std::string seen;
    for (size_t at = 0; at < text.size(); at += kPage) {
      const std::string_view block = text.substr(at, kPage);
      const bool is_even = block.find_first_not_of(block[0]) == std::string_view::npos;
      const bool is_right = is_even && (block[0] == '\0' || block[0] == letter(at / kPage));
      seen += is_right ? (block[0] == '\0' ? '.' : block[0]) : '?';
    }
    return seen;
  }

  std::vector<size_t> again_;  ///< blocks that were inflated again
  size_t again_bytes_ = 0;     ///< of the last of them
};

TEST_F(InflateBufferTest, KeepsAllThatNobodyReleases) {
  InflateBuffer buffer(limits(0));
  forget_in(buffer);
  ASSERT_EQ(buffer.at_least(0).text, "");
  std::jthread writer([&] {
    for (size_t block = 0; block < 40; ++block) write_block(buffer, block);
    buffer.finish();
  });
  const InflateBuffer::Part part = buffer.at_least(SIZE_MAX);
  EXPECT_TRUE(part.is_whole);
  EXPECT_EQ(part.text, expected(40));
  EXPECT_THAT(again_, IsEmpty());
}

TEST_F(InflateBufferTest, BringsBackWhatWasReleasedWhereItIsHeld) {
  InflateBuffer buffer(limits(0));
  forget_in(buffer);
  for (size_t block = 0; block < 40; ++block) {
    ASSERT_TRUE(write_block(buffer, block));
    buffer.release(0, (block + 1) * kPage - 1);  // all but the newest block
  }
  buffer.finish();
  const std::string_view text = buffer.at_least(SIZE_MAX).text;
  buffer.hold(3 * kPage + 5, 5 * kPage);
  EXPECT_EQ(text.substr(3 * kPage, 2 * kPage), expected(5).substr(3 * kPage));
  EXPECT_THAT(again_, ElementsAre(3, 4));
  EXPECT_EQ(text.substr(39 * kPage), expected(40).substr(39 * kPage));
  buffer.hold(4 * kPage, 4 * kPage + 1);
  EXPECT_THAT(again_, ElementsAre(3, 4));
  buffer.let_go(4 * kPage, 4 * kPage + 1);
  buffer.let_go(3 * kPage + 5, 5 * kPage);
  buffer.hold(10 * kPage, 11 * kPage);
  buffer.forget_unheld();
  EXPECT_EQ(text[10 * kPage], letter(10));
  EXPECT_THAT(again_, ElementsAre(3, 4, 10));
}

TEST_F(InflateBufferTest, ReleasesOnlyWholeBlocksTheOldestFirst) {
  InflateBuffer buffer(limits(0));
  forget_in(buffer);
  write_blocks(buffer, 0, 8);
  buffer.release(kPage + 1, 8 * kPage - 1);
  EXPECT_EQ(seen_in(buffer), "abcdefgh");
  write_blocks(buffer, 8, 9);
  EXPECT_EQ(seen_in(buffer), "ab.defghi");
  write_blocks(buffer, 9, 13);
  EXPECT_EQ(seen_in(buffer), "ab.....hijklm");
  buffer.release(0, 9 * kPage);
  write_blocks(buffer, 13, 14);
  EXPECT_EQ(seen_in(buffer), "ab......ijklmn");  // only what came since the release before
}

TEST_F(InflateBufferTest, ForgetsWhatIsCompleteAndNotHeldButTheLatest) {
  InflateBuffer buffer(limits(0));
  forget_in(buffer);
  write_blocks(buffer, 0, 7);
  ASSERT_TRUE(write(buffer, 7, kPage / 2));
  buffer.hold(2 * kPage, 3 * kPage);
  buffer.forget_unheld();
  EXPECT_EQ(seen_in(buffer), "..c...gh");
  ASSERT_TRUE(write(buffer, 7, kPage));
  EXPECT_EQ(buffer.at_least(0).text.size(), 8 * kPage) << "room ends with the block";
  EXPECT_EQ(seen_in(buffer), "..c....h");
  ASSERT_TRUE(write(buffer, 8, 10));
  EXPECT_EQ(seen_in(buffer), "..c.....i") << "a block's memory is lent to the next one";
  buffer.finish();
  buffer.let_go(2 * kPage, 3 * kPage);
  EXPECT_EQ(seen_in(buffer), "..c......");
  buffer.hold(8 * kPage, 8 * kPage + 10);
  EXPECT_EQ(seen_in(buffer), "........i");
  EXPECT_THAT(again_, ElementsAre(8));
  EXPECT_EQ(again_bytes_, 10U);
}

TEST_F(InflateBufferTest, ForgetsNothingThatCannotComeBack) {
  InflateBuffer buffer(limits(0));
  write_blocks(buffer, 0, 20);
  buffer.release(0, 5 * kPage);
  buffer.forget_unheld();
  buffer.hold(7 * kPage, 9 * kPage);
  buffer.let_go(7 * kPage, 9 * kPage);
  buffer.finish();
  EXPECT_EQ(buffer.at_least(SIZE_MAX).text, expected(20));
}

TEST_F(InflateBufferTest, NeedsOneBlockOfMemoryForEachThatIsHeld) {
  InflateBuffer buffer(limits(1, 1));  // a file of one byte has no room
  forget_in(buffer);
  buffer.forget_unheld();
  write_blocks(buffer, 0, 60);
  buffer.finish();
  const std::string_view text = buffer.at_least(SIZE_MAX).text;
  for (const size_t block : {59UL, 0UL, 0UL, 59UL, 17UL, 18UL, 17UL}) {
    buffer.hold(block * kPage, (block + 1) * kPage);
    EXPECT_EQ(text.substr(block * kPage, kPage), std::string(kPage, letter(block)));
    buffer.let_go(block * kPage, (block + 1) * kPage);
  }
  EXPECT_THAT(again_, ElementsAre(0, 59, 17, 18, 17));
}

TEST_F(InflateBufferTest, WhatIsHeldIsThereEvenBeyondTheLimits) {
  InflateBuffer buffer(limits(2, 1));
  forget_in(buffer);
  buffer.forget_unheld();
  write_blocks(buffer, 0, 10);
  buffer.hold(2 * kPage, 7 * kPage);
  EXPECT_EQ(seen_in(buffer), "..cdefg...");
  EXPECT_FALSE(write_block(buffer, 10)) << "there is none for text that comes new";
  buffer.let_go(2 * kPage, 7 * kPage);
  EXPECT_EQ(seen_in(buffer), "......g...");
  write_blocks(buffer, 10, 30);
  EXPECT_EQ(seen_in(buffer), std::string(29, '.') + letter(29));
}

TEST_F(InflateBufferTest, GivesBackTheMemoryOfWhatItForgets) {
  InflateBuffer buffer(limits(4, 1));
  forget_in(buffer);
  write_blocks(buffer, 0, 4);
  buffer.forget_unheld();
  EXPECT_EQ(seen_in(buffer), "...d");
  buffer.hold(0, 4 * kPage);
  EXPECT_EQ(seen_in(buffer), "abcd");
  EXPECT_THAT(again_, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(write_block(buffer, 4)) << "all four blocks of memory are held";
}

TEST_F(InflateBufferTest, TheWriterIsAtMostEightBlocksAheadOfReaders) {
  InflateBuffer buffer(limits(0));
  forget_in(buffer);
  std::atomic<size_t> written = 0;
  const Worker writer([&] {
    while (write_block(buffer, written)) ++written;
  });
  const auto written_at_rest = [&] {
    writer.await_rest();
    return written.load();
  };
  EXPECT_EQ(written_at_rest(), 8U);
  EXPECT_EQ(buffer.at_least(12 * kPage).text.size(), 12 * kPage);
  EXPECT_EQ(written_at_rest(), 12U) << "a reader waits for as much";
  buffer.release(0, 12 * kPage);
  EXPECT_EQ(written_at_rest(), 20U);
  buffer.hold(12 * kPage, 14 * kPage);
  buffer.release(0, 20 * kPage);
  EXPECT_EQ(written_at_rest(), 26U) << "two blocks are held";
  buffer.let_go(12 * kPage, 14 * kPage);
  EXPECT_EQ(written_at_rest(), 28U);
  for (int times = 0; times < 3; ++times) {
    buffer.hold(0, kPage);
    buffer.let_go(0, kPage);
    EXPECT_EQ(written_at_rest(), 28U);
  }
  EXPECT_THAT(again_, ElementsAre(0));
  buffer.forget_unheld();
  writer.await_rest();
  EXPECT_EQ(buffer.at_least(0).text.size(), 101 * kPage) << "nobody waits any more";
}

TEST_F(InflateBufferTest, AWriterThatWaitsCanBeStopped) {
  InflateBuffer buffer(limits(0));
  forget_in(buffer);
  size_t written = 0;
  {
    const Worker writer([&] {
      while (write_block(buffer, written)) ++written;
    });
    writer.await_rest();
    buffer.stop();
  }
  EXPECT_EQ(written, 8U);
}

TEST_F(InflateBufferTest, TwoThatHoldABlockAtOnceBothWaitForIt) {
  InflateBuffer buffer(limits(0));
  std::binary_semaphore has_begun(0), may_end(0);
  buffer.may_forget([&](size_t block, std::span<char> out) {
    again_.push_back(block);
    has_begun.release();
    may_end.acquire();
    std::ranges::fill(out, letter(block));
  });
  buffer.forget_unheld();
  write_blocks(buffer, 0, 2);
  std::string seen;
  {
    const Worker first([&] { buffer.hold(0, kPage); });
    has_begun.acquire();
    const Worker second([&] {
      buffer.hold(0, kPage);
      seen = buffer.at_least(0).text.substr(0, kPage);
    });
    second.await_rest();
    may_end.release();
  }
  EXPECT_EQ(seen, expected(1));
  EXPECT_THAT(again_, ElementsAre(0));
}

size_t count_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST_F(InflateBufferTest, GoesOnInAFileWhereMemoryIsShort) {
  const testing::TemporaryFolder folder;
  const testing::Variables there("TMPDIR", folder.path());
  const size_t open_before = count_in("/proc/self/fd");
  {
    InflateBuffer buffer(limits(3));
    write_blocks(buffer, 0, 20);
    buffer.finish();
    EXPECT_EQ(buffer.at_least(SIZE_MAX).text, expected(20));
    EXPECT_EQ(count_in("/proc/self/fd"), open_before + 1);
    EXPECT_EQ(count_in(folder.path()), 0U)
        << "the file has no name that a killed reader could leave";
  }
  EXPECT_EQ(count_in("/proc/self/fd"), open_before);
}

TEST_F(InflateBufferTest, TakesNoMoreOfTheDiskThanItMay) {
  InflateBuffer buffer(limits(3, 4 * kPage));
  write_blocks(buffer, 0, 7);
  EXPECT_FALSE(write_block(buffer, 7));
  EXPECT_EQ(buffer.at_least(0).text, expected(7));
}

TEST_F(InflateBufferTest, WhatIsInTheFileIsNotForgotten) {
  InflateBuffer buffer(limits(2));
  forget_in(buffer);
  write_blocks(buffer, 0, 20);
  buffer.forget_unheld();
  EXPECT_EQ(seen_in(buffer), ".bcdefghijklmnopqrst");
}

TEST_F(InflateBufferTest, MakesNoFileWhileThereIsMemory) {
  const testing::Variables nowhere("TMPDIR", "/proc");
  InflateBuffer much(limits(0));
  write_blocks(much, 0, 60);
  InflateBuffer little(limits(2));
  write_blocks(little, 0, 2);
  EXPECT_FALSE(write_block(little, 2));
}

TEST_F(InflateBufferTest, EndsWhereTheAddressSpaceDoes) {
  InflateBuffer buffer(limits(0));
  write_blocks(buffer, 0, 101);
  EXPECT_FALSE(write_block(buffer, 101));
  InflateBuffer huge({.text_bytes = SIZE_MAX / 2, .block_bytes = kPage});
  write_blocks(huge, 0, 101);  // it takes what the system gives
}

TEST_F(InflateBufferTest, BlocksBeginAtMultiplesOfTheirSize) {
  const size_t block = 64 * kPage;
  unsigned char ignored = 0;
  void* gone = nullptr;
  {
    InflateBuffer buffer({.text_bytes = 3 * block, .block_bytes = block});
    for (int times = 0; times < 4; ++times) ASSERT_TRUE(write(buffer, 0, block));
    EXPECT_FALSE(write(buffer, 0, block));
    const std::string_view text = buffer.at_least(0).text;
    EXPECT_EQ(text, std::string(4 * block, letter(0)));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(text.data()) % block, 0U);
    gone = const_cast<char*>(text.data());
    EXPECT_EQ(::mincore(gone, kPage, &ignored), 0);
  }
  EXPECT_EQ(::mincore(gone, kPage, &ignored), -1) << "its addresses are free again";
  EXPECT_EQ(errno, ENOMEM);
}

}  // namespace
}  // namespace redline::trace
