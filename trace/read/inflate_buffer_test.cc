#include "trace/read/inflate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace redline::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const size_t kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));

// Each block consists of its own letter.
class InflateBufferTest : public ::testing::Test {
 protected:
  static char letter(size_t block) { return static_cast<char>('a' + block % 26); }

  static InflateBuffer::Limits limits(size_t memory_blocks) {
    return {.text_bytes = 100 * kPage, .memory_bytes = memory_blocks * kPage, .block_bytes = kPage};
  }

  void forget_in(InflateBuffer& buffer) {
    buffer.may_forget([this](size_t block, std::span<char> out) {
      again_.push_back(block);
      std::ranges::fill(out, letter(block));
    });
  }

  static bool write_block(InflateBuffer& buffer, size_t block) {
    const std::span<char> room = buffer.room(2 * kPage);
    if (room.empty()) return false;
    EXPECT_EQ(room.size(), kPage);
    std::ranges::fill(room, letter(block));
    buffer.commit(room.size());
    return true;
  }

  static std::string expected(size_t blocks) {
    std::string text;
    for (size_t block = 0; block < blocks; ++block) text.append(kPage, letter(block));
    return text;
  }

  std::vector<size_t> again_;  ///< blocks that were inflated again
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
  buffer.keep(10 * kPage, 11 * kPage);
  buffer.keep(10 * kPage, 11 * kPage);
  buffer.forget_unheld();
  EXPECT_EQ(text[10 * kPage], letter(10));
  EXPECT_THAT(again_, ElementsAre(3, 4, 10));
}

TEST_F(InflateBufferTest, ReleasedBlocksLendTheirMemory) {
  InflateBuffer buffer(limits(4));  // with more blocks, some would go to a file
  forget_in(buffer);
  buffer.forget_unheld();
  for (size_t block = 0; block < 60; ++block) ASSERT_TRUE(write_block(buffer, block));
  buffer.finish();
  const std::string_view text = buffer.at_least(SIZE_MAX).text;
  for (const size_t block : {0UL, 59UL, 17UL, 18UL, 17UL, 0UL}) {
    buffer.hold(block * kPage, (block + 1) * kPage);
    EXPECT_EQ(text.substr(block * kPage, kPage), std::string(kPage, letter(block)));
    buffer.let_go(block * kPage, (block + 1) * kPage);
  }
  EXPECT_FALSE(again_.empty());
  EXPECT_EQ(buffer.error(), "");
}

TEST_F(InflateBufferTest, TheWriterWaitsForReadersThatRelease) {
  InflateBuffer buffer(limits(0));
  forget_in(buffer);
  std::atomic<size_t> written = 0;
  std::jthread writer([&] {
    for (size_t block = 0; block < 40; ++block) {
      write_block(buffer, block);
      ++written;
    }
    buffer.finish();
  });
  for (size_t block = 0; block < 40; ++block) {
    const InflateBuffer::Part part = buffer.at_least((block + 1) * kPage);
    EXPECT_LE(written, block + 10);
    ASSERT_EQ(part.text.substr(block * kPage, kPage), std::string(kPage, letter(block)));
    buffer.release(0, (block + 1) * kPage);
  }
}

TEST_F(InflateBufferTest, AWriterThatWaitsCanBeStopped) {
  InflateBuffer buffer(limits(0));
  forget_in(buffer);
  size_t written = 0;
  std::thread writer([&] {
    while (written < 90 && write_block(buffer, written)) ++written;
  });
  static_cast<void>(buffer.at_least(kPage));
  buffer.stop();
  writer.join();
  EXPECT_LT(written, 40U);
}

TEST_F(InflateBufferTest, TakesNoMoreOfTheDiskThanItMay) {
  InflateBuffer::Limits few = limits(3);
  few.file_bytes = 4 * kPage;
  InflateBuffer buffer(few);
  for (size_t block = 0; block < 7; ++block) ASSERT_TRUE(write_block(buffer, block));
  EXPECT_FALSE(write_block(buffer, 7));
  EXPECT_THAT(buffer.error(), HasSubstr("No space left"));
  EXPECT_EQ(buffer.at_least(0).text, expected(7));
}

TEST_F(InflateBufferTest, GoesOnInAFileWhereMemoryIsShort) {
  InflateBuffer buffer(limits(3));
  for (size_t block = 0; block < 20; ++block) ASSERT_TRUE(write_block(buffer, block));
  buffer.finish();
  EXPECT_EQ(buffer.at_least(SIZE_MAX).text, expected(20));
}

TEST_F(InflateBufferTest, SaysWhereThereIsNoMoreRoom) {
  InflateBuffer buffer(limits(0));
  size_t blocks = 0;
  while (blocks < 200 && write_block(buffer, blocks)) ++blocks;
  EXPECT_LT(blocks, 200U);
  EXPECT_THAT(buffer.error(), ::testing::HasSubstr("address space"));
}

}  // namespace
}  // namespace redline::trace
